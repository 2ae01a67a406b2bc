// Prints how each field of a Kubernetes type is held in Go: a line for each type, with its fields.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	aggregation "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var readsItself = reflect.TypeFor[json.Unmarshaler]()
var seen = map[reflect.Type]bool{}
var lines []string

func main() {
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensions.AddToScheme, aggregation.AddToScheme} {
		if err := add(all); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	for _, held := range all.AllKnownTypes() {
		visit(held)
	}
	sort.Strings(lines)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
}

// The name under which the type is published: the path of its package, backwards as a domain.
func published(held reflect.Type) string {
	return strings.ReplaceAll(strings.Replace(held.PkgPath(), "k8s.io", "io.k8s", 1), "/", ".") + "." + held.Name()
}

func bare(held reflect.Type) reflect.Type {
	for held.Kind() == reflect.Pointer {
		held = held.Elem()
	}
	return held
}

func visit(held reflect.Type) {
	held = bare(held)
	switch held.Kind() {
	case reflect.Slice, reflect.Map:
		visit(held.Elem())
	case reflect.Struct:
		if seen[held] || !strings.HasPrefix(held.PkgPath(), "k8s.io/") || reflect.PointerTo(held).Implements(readsItself) {
			return
		}
		seen[held] = true
		var fields []string
		collect(held, "", &fields)
		lines = append(lines, published(held)+"\t"+strings.Join(fields, " "))
	}
}

func collect(held reflect.Type, inside string, fields *[]string) {
	for i := 0; i < held.NumField(); i++ {
		field := held.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() && !field.Anonymous {
			continue
		}
		if field.Anonymous && name == "" {
			embedded := field.Name
			if inside != "" {
				embedded = inside + "." + embedded
			}
			collect(bare(field.Type), embedded, fields)
			continue
		}
		if name == "" {
			name = field.Name
		}
		flags := ""
		if field.Type.Kind() == reflect.Pointer {
			flags += "p"
		}
		for _, option := range strings.Split(options, ",") {
			switch option {
			case "omitempty":
				flags += "o"
			case "omitzero":
				flags += "z"
			}
		}
		*fields = append(*fields, strings.TrimRight(strings.Join([]string{name, flags, inside, named(field.Type)}, ":"), ":"))
		visit(field.Type)
	}
}

// The names of the types that a field's schema doesn't tell: those of its own, and those of its elements.
func named(held reflect.Type) string {
	held = bare(held)
	own := ""
	if held.PkgPath() != "" && held.Kind() != reflect.Struct {
		own = held.String()
	}
	if held.Kind() == reflect.Slice && held.Elem().Kind() != reflect.Uint8 || held.Kind() == reflect.Map {
		if inner := named(held.Elem()); inner != "" {
			return own + ":" + inner
		}
	}
	return own
}
