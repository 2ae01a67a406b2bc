package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
)

func typedObjects(ctx context.Context, s *stand) error {
	maps := s.client.CoreV1().ConfigMaps(s.namespace)
	made, err := maps.Create(ctx, configMap("one", "1"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if made.UID == "" || made.ResourceVersion == "" || made.CreationTimestamp.IsZero() {
		return fmt.Errorf("the server filled nothing in: %v", made.ObjectMeta)
	}
	if _, err := maps.Create(ctx, configMap("one", "1"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("a second creation gave %v", err)
	}
	stale := made.DeepCopy()
	made.Data["value"] = "2"
	changed, err := maps.Update(ctx, made, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	if _, err := maps.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		return fmt.Errorf("an update of a stale object gave %v", err)
	}
	patched, err := maps.Patch(ctx, "one", types.StrategicMergePatchType, []byte(`{"data":{"more":"3"}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	if patched.Data["value"] != "2" || patched.Data["more"] != "3" || patched.ResourceVersion == changed.ResourceVersion {
		return fmt.Errorf("the patch gave %v", patched)
	}
	invalid := configMap("Not_A_Name", "")
	if _, err := maps.Create(ctx, invalid, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		return fmt.Errorf("an invalid name gave %v", err)
	}
	if err := typedDeployment(ctx, s); err != nil {
		return err
	}
	list, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "proof=yes"})
	if err != nil {
		return err
	}
	if len(list.Items) != 1 || list.ResourceVersion == "" {
		return fmt.Errorf("the list has %d objects", len(list.Items))
	}
	if err := maps.Delete(ctx, "one", metav1.DeleteOptions{}); err != nil {
		return err
	}
	if _, err := maps.Get(ctx, "one", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("a read after the deletion gave %v", err)
	}
	return nil
}

// typedDeployment proves that a rich kind crosses protobuf both ways, with its scale and its defaults.
func typedDeployment(ctx context.Context, s *stand) error {
	replicas := int32(0)
	selector := map[string]string{"app": "proof"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "proof"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: selector},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "main", Image: "example.com/proof:1",
					Env:   []corev1.EnvVar{{Name: "A", Value: "b"}},
					Ports: []corev1.ContainerPort{{ContainerPort: 80}},
				}}},
			},
		},
	}
	deployments := s.client.AppsV1().Deployments(s.namespace)
	made, err := deployments.Create(ctx, deployment, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	main := made.Spec.Template.Spec.Containers[0]
	if main.Ports[0].Protocol != corev1.ProtocolTCP || main.Env[0].Value != "b" || made.Spec.Strategy.RollingUpdate == nil {
		return fmt.Errorf("the deployment came back as %v", made.Spec)
	}
	// The deployment controller writes too, between the read and the write: a conflict is no failure.
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		scale, err := deployments.GetScale(ctx, "proof", metav1.GetOptions{})
		if err != nil {
			return err
		}
		scale.Spec.Replicas = 2
		_, err = deployments.UpdateScale(ctx, "proof", scale, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return eventually(ctx, func() error {
		now, err := deployments.Get(ctx, "proof", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if *now.Spec.Replicas != 2 || now.Status.AvailableReplicas != 2 {
			return fmt.Errorf("%d of %d replicas are available", now.Status.AvailableReplicas, *now.Spec.Replicas)
		}
		return nil
	})
}

func typedApply(ctx context.Context, s *stand) error {
	maps := s.client.CoreV1().ConfigMaps(s.namespace)
	with := func(value string) *applycorev1.ConfigMapApplyConfiguration {
		return applycorev1.ConfigMap("applied", s.namespace).WithData(map[string]string{"value": value})
	}
	made, err := maps.Apply(ctx, with("1"), metav1.ApplyOptions{FieldManager: "first"})
	if err != nil {
		return err
	}
	if len(made.ManagedFields) != 1 || made.ManagedFields[0].Manager != "first" {
		return fmt.Errorf("the fields are managed by %v", made.ManagedFields)
	}
	if _, err := maps.Apply(ctx, with("2"), metav1.ApplyOptions{FieldManager: "second"}); !apierrors.IsConflict(err) {
		return fmt.Errorf("an application of another's field gave %v", err)
	}
	forced, err := maps.Apply(ctx, with("2"), metav1.ApplyOptions{FieldManager: "second", Force: true})
	if err != nil {
		return err
	}
	mine, err := applycorev1.ExtractConfigMap(forced, "second")
	if err != nil {
		return err
	}
	if mine.Data["value"] != "2" {
		return fmt.Errorf("the second manager owns %v", mine.Data)
	}
	return nil
}

// asked remembers which queries a client sent.
type asked struct {
	next  http.RoundTripper
	lists atomic.Int64
	// streamed counts watches that asked for the initial events, answered with protobuf.
	streamed atomic.Int64
}

func (a *asked) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(request)
	if err != nil {
		return response, err
	}
	query := request.URL.Query()
	if query.Get("watch") == "" && request.Method == http.MethodGet {
		a.lists.Add(1)
	}
	binary := strings.HasPrefix(response.Header.Get("Content-Type"), "application/vnd.kubernetes.protobuf")
	if query.Get("sendInitialEvents") == "true" && response.StatusCode == http.StatusOK && binary {
		a.streamed.Add(1)
	}
	return response, nil
}

func typedInformers(ctx context.Context, s *stand) error {
	maps := s.client.CoreV1().ConfigMaps(s.namespace)
	const before, after = 50, 50
	for i := range before {
		if _, err := maps.Create(ctx, configMap(fmt.Sprintf("before-%d", i), "0"), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	watched := &asked{}
	config := rest.CopyConfig(s.binary)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		watched.next = next
		return watched
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(s.namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "proof=yes" }))
	informer := factory.Core().V1().ConfigMaps()
	var added, updated, deleted atomic.Int64
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { added.Add(1) },
		UpdateFunc: func(any, any) { updated.Add(1) },
		DeleteFunc: func(any) { deleted.Add(1) },
	}); err != nil {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	factory.Start(stop)
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
		return fmt.Errorf("the informer doesn't sync")
	}
	listed, err := informer.Lister().ConfigMaps(s.namespace).List(labels.Everything())
	if err != nil {
		return err
	}
	if len(listed) != before {
		return fmt.Errorf("after the sync %d of %d objects are known", len(listed), before)
	}
	for i := range after {
		if _, err := maps.Create(ctx, configMap(fmt.Sprintf("after-%d", i), "0"), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for i := range before {
		name := fmt.Sprintf("before-%d", i)
		if i%2 == 0 {
			if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				return err
			}
		} else if _, err := maps.Update(ctx, configMap(name, "1"), metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if err := eventually(ctx, func() error {
		if added.Load() != before+after || updated.Load() != before/2 || deleted.Load() != before/2 {
			return fmt.Errorf("%d additions, %d updates, %d deletions", added.Load(), updated.Load(), deleted.Load())
		}
		return nil
	}); err != nil {
		return err
	}
	truth, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "proof=yes"})
	if err != nil {
		return err
	}
	for _, want := range truth.Items {
		have, err := informer.Lister().ConfigMaps(s.namespace).Get(want.Name)
		if err != nil {
			return err
		}
		if have.ResourceVersion != want.ResourceVersion || have.Data["value"] != want.Data["value"] {
			return fmt.Errorf("%s is %s in the cache and %s on the server", want.Name, have.ResourceVersion, want.ResourceVersion)
		}
	}
	if watched.streamed.Load() == 0 || watched.lists.Load() != 0 {
		return fmt.Errorf("%d streamed lists in protobuf, %d plain lists", watched.streamed.Load(), watched.lists.Load())
	}
	return nil
}

func initialEvents(ctx context.Context, s *stand) error {
	maps := s.client.CoreV1().ConfigMaps(s.namespace)
	for i := range 3 {
		if _, err := maps.Create(ctx, configMap(fmt.Sprintf("there-%d", i), "0"), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	yes := true
	watch, err := maps.Watch(ctx, metav1.ListOptions{
		SendInitialEvents: &yes, AllowWatchBookmarks: true, LabelSelector: "proof=yes",
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		return err
	}
	defer watch.Stop()
	there := 0
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("no bookmark came after %d objects", there)
		case event, open := <-watch.ResultChan():
			if !open {
				return io.ErrUnexpectedEOF
			}
			object, ok := event.Object.(*corev1.ConfigMap)
			if !ok {
				return fmt.Errorf("an event %s brought %T", event.Type, event.Object)
			}
			switch event.Type {
			case "ADDED":
				there++
			case "BOOKMARK":
				if object.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
					continue
				}
				if there != 3 {
					return fmt.Errorf("the bookmark came after %d of 3 objects", there)
				}
				return resumed(ctx, s, object.ResourceVersion)
			}
		}
	}
}

// resumed proves that a watch from the bookmark's version sees exactly what comes after it.
func resumed(ctx context.Context, s *stand, version string) error {
	maps := s.client.CoreV1().ConfigMaps(s.namespace)
	if _, err := maps.Create(ctx, configMap("later", "0"), metav1.CreateOptions{}); err != nil {
		return err
	}
	watch, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: version, LabelSelector: "proof=yes"})
	if err != nil {
		return err
	}
	defer watch.Stop()
	select {
	case event := <-watch.ResultChan():
		if object, ok := event.Object.(*corev1.ConfigMap); !ok || object.Name != "later" {
			return fmt.Errorf("the first event is %s of %v", event.Type, event.Object)
		}
		return nil
	case <-time.After(patience / 4):
		return fmt.Errorf("no event came")
	}
}
