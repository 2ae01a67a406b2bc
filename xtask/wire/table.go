package main

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// leaves are the types whose JSON form isn't that of a Go struct; the reader knows each by its word.
var leaves = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():               "time",
	reflect.TypeFor[metav1.MicroTime]():          "microtime",
	reflect.TypeFor[resource.Quantity]():         "quantity",
	reflect.TypeFor[intstr.IntOrString]():        "intorstring",
	reflect.TypeFor[runtime.RawExtension]():      "raw",
	reflect.TypeFor[metav1.FieldsV1]():           "json",
	reflect.TypeFor[apiextensionsv1.JSON]():      "json",
	reflect.TypeFor[apiextensionsv1beta1.JSON](): "json",
}

// choices are structs that JSON shows as one of their fields.
var choices = map[reflect.Type]string{
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():            "array",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():             "bool",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray]():      "array",
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrArray]():       "array",
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrBool]():        "bool",
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrStringArray](): "array",
}

var (
	marshalerType = reflect.TypeFor[json.Marshaler]()
	zeroType      = reflect.TypeFor[interface{ IsZero() bool }]()
	typeMetaType  = reflect.TypeFor[metav1.TypeMeta]()
)

type table struct {
	numbers map[reflect.Type]int
	queue   []reflect.Type
}

// number returns the place of a message in the table, and sees to it that it gets one.
func (t *table) number(goType reflect.Type) int {
	number, known := t.numbers[goType]
	if !known {
		if !reflect.PointerTo(goType).Implements(messageType) {
			fail("%s is part of a message and has no protobuf form", goType)
		}
		number = len(t.queue)
		t.numbers[goType] = number
		t.queue = append(t.queue, goType)
	}
	return number
}

// writeTable writes lines: a kind is `kind API-VERSION NAME MESSAGE`, a message is `message NAME FORM` (an `object`
// has a kind and a version when it stands alone), and the fields of the message follow it as `NUMBER JSON-NAME GO-NAME TYPE FLAGS`.
func writeTable(out io.Writer, all []kind) {
	t := &table{numbers: map[reflect.Type]int{}}
	for _, kind := range all {
		fmt.Fprintf(out, "kind %s %s %d\n", kind.apiVersion, kind.name, t.number(kind.goType))
	}
	for at := 0; at < len(t.queue); at++ {
		t.writeMessage(out, t.queue[at])
	}
}

func (t *table) writeMessage(out io.Writer, goType reflect.Type) {
	form := "struct"
	if field, ok := goType.FieldByName("TypeMeta"); ok && field.Type == typeMetaType {
		form = "object"
	}
	if choice, ok := choices[goType]; ok {
		form = choice
	} else if goType.Implements(marshalerType) {
		fail("%s writes its own JSON, and the table has no word for it", goType)
	}
	fmt.Fprintf(out, "message %s %s\n", goType.Name(), form)
	names := map[string]bool{}
	t.collectNames(goType, names)
	for at := range goType.NumField() {
		field := goType.Field(at)
		tag := field.Tag.Get("protobuf")
		if tag == "" || tag == "-" {
			if field.Tag.Get("json") == "-" {
				continue
			}
			if field.Type != typeMetaType || !field.Anonymous {
				fail("%s.%s has no protobuf form", goType, field.Name)
			}
			continue
		}
		parts := strings.Split(tag, ",")
		number, err := strconv.Atoi(parts[1])
		if err != nil {
			fail("%s.%s: %v", goType, field.Name, err)
		}
		name, flags := jsonName(goType, field)
		kindOf, more := t.typeOf(goType, field)
		flags += more
		if flags == "" {
			flags = "-"
		}
		fmt.Fprintf(out, "%d %s %s %s %s\n", number, name, field.Name, kindOf, flags)
	}
}

// collectNames fails where two fields of a struct and of those inlined into it have the same JSON name.
func (t *table) collectNames(goType reflect.Type, names map[string]bool) {
	for at := range goType.NumField() {
		field := goType.Field(at)
		if field.Tag.Get("json") == "-" {
			continue
		}
		name, flags := jsonName(goType, field)
		if strings.Contains(flags, "i") {
			inner := field.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			t.collectNames(inner, names)
			continue
		}
		if names[name] {
			fail("%s has two fields that are %q in JSON", goType, name)
		}
		names[name] = true
	}
}

// jsonName returns the field's name in JSON and its flags: e for omitempty, z for omitzero, i for inlined.
func jsonName(goType reflect.Type, field reflect.StructField) (string, string) {
	parts := strings.Split(field.Tag.Get("json"), ",")
	name, flags := parts[0], ""
	for _, option := range parts[1:] {
		switch option {
		case "omitempty":
			flags += "e"
		case "omitzero":
			flags += "z"
			if field.Type.Kind() == reflect.Struct && !reflect.PointerTo(field.Type).Implements(zeroType) {
				fail("%s.%s: the table can't say when this struct is zero", goType, field.Name)
			}
		case "inline", "":
		default:
			fail("%s.%s: unknown JSON option %q", goType, field.Name, option)
		}
	}
	if name == "" && field.Anonymous {
		return field.Name, flags + "i"
	}
	if name == "" {
		name = field.Name
	}
	if name == "-" {
		fail("%s.%s isn't part of JSON", goType, field.Name)
	}
	return name, flags
}

// typeOf returns the type of a field's value and its flags: p for a pointer, l for a list, m for a map.
func (t *table) typeOf(owner reflect.Type, field reflect.StructField) (string, string) {
	goType, flags := field.Type, ""
	if goType.Kind() == reflect.Pointer {
		goType, flags = goType.Elem(), "p"
	}
	switch goType.Kind() {
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 || reflect.PointerTo(goType).Implements(messageType) {
			break
		}
		flags += "l"
		goType = goType.Elem()
	case reflect.Map:
		if goType.Key().Kind() != reflect.String {
			fail("%s.%s: the key isn't text", owner, field.Name)
		}
		if reflect.PointerTo(goType).Implements(messageType) {
			fail("%s.%s: a map that is a message", owner, field.Name)
		}
		flags += "m"
		goType = goType.Elem()
	}
	if strings.HasPrefix(flags, "p") && len(flags) > 1 {
		fail("%s.%s: a pointer to a list or map", owner, field.Name)
	}
	return t.word(owner, field, goType), flags
}

func (t *table) word(owner reflect.Type, field reflect.StructField, goType reflect.Type) string {
	if leaf, ok := leaves[goType]; ok {
		return leaf
	}
	switch goType.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32:
		return "int32"
	case reflect.Int64:
		if goType == reflect.TypeFor[time.Duration]() {
			fail("%s.%s: a bare duration", owner, field.Name)
		}
		return "int64"
	case reflect.Float64:
		return "double"
	case reflect.Struct:
		return "@" + strconv.Itoa(t.number(goType))
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		if !reflect.PointerTo(goType).Implements(messageType) {
			fail("%s.%s: a list in a list", owner, field.Name)
		}
		// A list that is a message of its own: its items are field 1.
		if element := goType.Elem(); element.Kind() == reflect.String {
			return "strings"
		}
	}
	fail("%s.%s: the table has no word for %s", owner, field.Name, goType)
	return ""
}
