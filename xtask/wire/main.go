// Command wire writes down what Kubernetes' Go types look like as protobuf and as JSON.
//
//	wire table FILE                    the fields of every message, and the message of every kind
//	wire samples FILE SEED ROUNDS      objects of every kind, as protobuf and as JSON
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strconv"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apidiscoveryv2beta1 "k8s.io/api/apidiscovery/v2beta1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationv1beta1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1beta1"
)

// message is what Kubernetes' generated code gives each type that has a protobuf form.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

var messageType = reflect.TypeFor[message]()

// Kinds that every group and version has, so that the table names them once.
var everywhere = map[string]bool{
	"WatchEvent": true, "ListOptions": true, "GetOptions": true, "DeleteOptions": true,
	"CreateOptions": true, "UpdateOptions": true, "PatchOptions": true,
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme,
		admissionv1.AddToScheme, admissionv1beta1.AddToScheme,
		apidiscoveryv2.AddToScheme, apidiscoveryv2beta1.AddToScheme,
		imagepolicyv1alpha1.AddToScheme,
		apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme,
		apiregistrationv1.AddToScheme, apiregistrationv1beta1.AddToScheme,
		metav1.AddMetaToScheme, metav1beta1.AddMetaToScheme,
	} {
		if err := add(scheme); err != nil {
			fail("cannot register types: %v", err)
		}
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return scheme
}

type kind struct {
	apiVersion, name string
	goType           reflect.Type
}

// kinds returns the kinds with a protobuf form, in a fixed order.
func kinds(scheme *runtime.Scheme) []kind {
	var all []kind
	for gvk, goType := range scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || (everywhere[gvk.Kind] && gvk.GroupVersion().String() != "v1") {
			continue
		}
		if !reflect.PointerTo(goType).Implements(messageType) {
			fmt.Fprintf(os.Stderr, "%s %s has no protobuf form\n", gvk.GroupVersion(), gvk.Kind)
			continue
		}
		all = append(all, kind{gvk.GroupVersion().String(), gvk.Kind, goType})
	}
	sort.Slice(all, func(a, b int) bool {
		if all[a].apiVersion != all[b].apiVersion {
			return all[a].apiVersion < all[b].apiVersion
		}
		return all[a].name < all[b].name
	})
	return all
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}

func main() {
	if len(os.Args) < 3 {
		fail("usage: wire table FILE | wire samples FILE SEED ROUNDS")
	}
	file, err := os.Create(os.Args[2])
	if err != nil {
		fail("%v", err)
	}
	out := bufio.NewWriter(file)
	scheme := newScheme()
	switch {
	case os.Args[1] == "table":
		writeTable(out, kinds(scheme))
	case os.Args[1] == "samples" && len(os.Args) == 5:
		seed, err := strconv.ParseUint(os.Args[3], 10, 64)
		if err != nil {
			fail("the seed must be a number: %v", err)
		}
		rounds, err := strconv.Atoi(os.Args[4])
		if err != nil {
			fail("the rounds must be a number: %v", err)
		}
		writeSamples(out, scheme, kinds(scheme), seed, rounds)
	default:
		fail("unknown chore %q", os.Args[1])
	}
	if err := out.Flush(); err != nil {
		fail("%v", err)
	}
	if err := file.Close(); err != nil {
		fail("%v", err)
	}
}
