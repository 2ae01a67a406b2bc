package main

import (
	"context"
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	gadgets     = schema.GroupVersionResource{Group: "clients.baton.test", Version: "v1", Resource: "gadgets"}
)

func metadataInformers(ctx context.Context, s *stand) error {
	client, err := metadata.NewForConfig(s.plain)
	if err != nil {
		return err
	}
	maps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	for i := range 10 {
		if _, err := s.client.CoreV1().ConfigMaps(s.namespace).Create(ctx, configMap(fmt.Sprintf("m-%d", i), "0"), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	factory := metadatainformer.NewFilteredSharedInformerFactory(client, 0, s.namespace, func(options *metav1.ListOptions) {
		options.LabelSelector = "proof=yes"
	})
	informer := factory.ForResource(maps).Informer()
	stop := make(chan struct{})
	defer close(stop)
	factory.Start(stop)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("the informer doesn't sync")
	}
	for _, known := range informer.GetStore().List() {
		object, ok := known.(*metav1.PartialObjectMetadata)
		if !ok || object.Labels["proof"] != "yes" {
			return fmt.Errorf("the cache holds %v", known)
		}
	}
	if err := client.Resource(maps).Namespace(s.namespace).Delete(ctx, "m-0", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return eventually(ctx, func() error {
		if count := len(informer.GetStore().List()); count != 9 {
			return fmt.Errorf("%d objects are known", count)
		}
		return nil
	})
}

func definition() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "gadgets.clients.baton.test"},
		"spec": map[string]any{
			"group": "clients.baton.test", "scope": "Namespaced",
			"names": map[string]any{"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object",
					"properties": map[string]any{
						"spec": map[string]any{"type": "object", "properties": map[string]any{
							"size": map[string]any{"type": "integer", "default": int64(1), "maximum": int64(9)},
						}},
						"status": map[string]any{"type": "object", "properties": map[string]any{
							"ready": map[string]any{"type": "boolean"},
						}},
					},
				}},
			}},
		},
	}}
}

// define creates the custom resource definition and waits until it is served.
func define(ctx context.Context, client dynamic.Interface) error {
	if _, err := client.Resource(definitions).Create(ctx, definition(), metav1.CreateOptions{}); err != nil {
		return err
	}
	return eventually(ctx, func() error {
		made, err := client.Resource(definitions).Get(ctx, "gadgets.clients.baton.test", metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(made.Object, "status", "conditions")
		for _, condition := range conditions {
			if condition, ok := condition.(map[string]any); ok && condition["type"] == "Established" && condition["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("the conditions are %v", conditions)
	})
}

func gadget(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "clients.baton.test/v1", "kind": "Gadget",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{},
	}}
}

func dynamicObjects(ctx context.Context, s *stand) error {
	client, err := dynamic.NewForConfig(s.plain)
	if err != nil {
		return err
	}
	if err := define(ctx, client); err != nil {
		return err
	}
	defer func() {
		_ = client.Resource(definitions).Delete(context.Background(), "gadgets.clients.baton.test", metav1.DeleteOptions{})
	}()
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, s.namespace, nil)
	informer := factory.ForResource(gadgets).Informer()
	var deleted atomic.Int64
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) { deleted.Add(1) }}); err != nil {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	factory.Start(stop)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("the informer doesn't sync")
	}
	mine := client.Resource(gadgets).Namespace(s.namespace)
	made, err := mine.Create(ctx, gadget("one"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if size, _, _ := unstructured.NestedInt64(made.Object, "spec", "size"); size != 1 {
		return fmt.Errorf("the default is missing: %v", made.Object["spec"])
	}
	made.Object["status"] = map[string]any{"ready": true}
	if _, err := mine.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := eventually(ctx, func() error {
		known, exists, err := informer.GetStore().GetByKey(s.namespace + "/one")
		if err != nil || !exists {
			return fmt.Errorf("the gadget is unknown: %v", err)
		}
		if ready, _, _ := unstructured.NestedBool(known.(*unstructured.Unstructured).Object, "status", "ready"); !ready {
			return fmt.Errorf("its status is unknown")
		}
		return nil
	}); err != nil {
		return err
	}
	large := gadget("large")
	large.Object["spec"] = map[string]any{"size": int64(10)}
	if _, err := mine.Create(ctx, large, metav1.CreateOptions{}); err == nil {
		return fmt.Errorf("a gadget that is too large was taken")
	}
	if err := mine.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	return eventually(ctx, func() error {
		if deleted.Load() != 1 {
			return fmt.Errorf("%d deletions were seen", deleted.Load())
		}
		return nil
	})
}

func discovered(_ context.Context, s *stand) error {
	client, err := discovery.NewDiscoveryClientForConfig(s.binary)
	if err != nil {
		return err
	}
	groups, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return err
	}
	if len(groups) == 0 {
		return fmt.Errorf("there are no groups")
	}
	seen := map[string]bool{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			key := list.GroupVersion + "/" + resource.Name
			if seen[key] {
				return fmt.Errorf("%s is there twice", key)
			}
			seen[key] = true
		}
	}
	for _, key := range []string{"v1/pods", "apps/v1/deployments", "apps/v1/deployments/scale", "batch/v1/jobs"} {
		if !seen[key] {
			return fmt.Errorf("%s is missing", key)
		}
	}
	mapped, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		return err
	}
	mapping, err := restmapper.NewDiscoveryRESTMapper(mapped).RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	if err != nil {
		return err
	}
	if mapping.Resource.Resource != "deployments" || mapping.Scope.Name() != "namespace" {
		return fmt.Errorf("deployments are mapped to %v", mapping)
	}
	paths, err := client.OpenAPIV3().Paths()
	if err != nil {
		return err
	}
	if paths["apis/apps/v1"] == nil {
		return fmt.Errorf("apps/v1 has no description")
	}
	text, err := paths["apis/apps/v1"].Schema("application/com.github.proto-openapi.spec.v3@v1.0+protobuf")
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return fmt.Errorf("the description of apps/v1 is empty")
	}
	return nil
}
