package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// turns remembers who led, in order.
type turns struct {
	sync.Mutex
	names []string
}

func (t *turns) begin(name string) {
	t.Lock()
	defer t.Unlock()
	t.names = append(t.names, name)
}

func (t *turns) all() []string {
	t.Lock()
	defer t.Unlock()
	return append([]string(nil), t.names...)
}

func election(ctx context.Context, s *stand) error {
	led := &turns{}
	stops := map[string]context.CancelFunc{}
	var running sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, s.namespace, "leader",
			s.client.CoreV1(), s.client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: name})
		if err != nil {
			return err
		}
		mine, stop := context.WithCancel(ctx)
		stops[name] = stop
		running.Add(1)
		go func() {
			defer running.Done()
			leaderelection.RunOrDie(mine, leaderelection.LeaderElectionConfig{
				Lock: lock, LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond,
				ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(leading context.Context) {
						led.begin(name)
						<-leading.Done()
					},
					OnStoppedLeading: func() {},
				},
			})
		}()
	}
	defer running.Wait()
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	for turn := 1; turn <= 3; turn++ {
		if err := eventually(ctx, func() error {
			if names := led.all(); len(names) < turn {
				return fmt.Errorf("%v led, and nobody after them", names)
			}
			return nil
		}); err != nil {
			return err
		}
		names := led.all()
		if len(names) != turn {
			return fmt.Errorf("%v led, which are more than %d", names, turn)
		}
		lease, err := s.client.CoordinationV1().Leases(s.namespace).Get(ctx, "leader", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != names[turn-1] {
			return fmt.Errorf("%s leads, but the lease is %v", names[turn-1], lease.Spec)
		}
		stops[names[turn-1]]()
	}
	return nil
}

// copier keeps a Secret beside every ConfigMap that asks for one.
type copier struct {
	client.Client
}

func (c *copier) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var source corev1.ConfigMap
	if err := c.Get(ctx, request.NamespacedName, &source); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if source.Labels["proof"] != "yes" {
		return ctrl.Result{}, nil
	}
	if !source.DeletionTimestamp.IsZero() {
		controllerutil.RemoveFinalizer(&source, "clients.baton.test/copy")
		return ctrl.Result{}, c.Update(ctx, &source)
	}
	if controllerutil.AddFinalizer(&source, "clients.baton.test/copy") {
		return ctrl.Result{}, c.Update(ctx, &source)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: source.Name, Namespace: source.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, c.Client, secret, func() error {
		secret.Data = map[string][]byte{"value": []byte(source.Data["value"])}
		return controllerutil.SetControllerReference(&source, secret, c.Scheme())
	})
	return ctrl.Result{}, err
}

func manager(ctx context.Context, s *stand) error {
	log.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(s.plain, ctrl.Options{
		Scheme:         scheme,
		Metrics:        server.Options{BindAddress: "0"},
		Cache:          cache.Options{DefaultNamespaces: map[string]cache.Config{s.namespace: {}}},
		LeaderElection: true, LeaderElectionID: "copier", LeaderElectionNamespace: s.namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).
		Complete(&copier{Client: manager.GetClient()})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(running) }()
	proof := copied(ctx, s)
	stop()
	if err := <-ended; err != nil {
		return fmt.Errorf("the manager ended: %w", err)
	}
	return proof
}

// copied creates, changes and deletes sources, destroys a copy, and waits for the copier each time.
func copied(ctx context.Context, s *stand) error {
	maps, secrets := s.client.CoreV1().ConfigMaps(s.namespace), s.client.CoreV1().Secrets(s.namespace)
	holds := func(name, value string) func() error {
		return func() error {
			secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if string(secret.Data["value"]) != value {
				return fmt.Errorf("the copy of %s is %q", name, secret.Data["value"])
			}
			return nil
		}
	}
	for i := range 20 {
		if _, err := maps.Create(ctx, configMap(fmt.Sprintf("source-%d", i), "1"), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for i := range 20 {
		name := fmt.Sprintf("source-%d", i)
		if err := eventually(ctx, holds(name, "1")); err != nil {
			return err
		}
	}
	source, err := maps.Get(ctx, "source-0", metav1.GetOptions{})
	if err != nil {
		return err
	}
	source.Data["value"] = "2"
	if _, err := maps.Update(ctx, source, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := eventually(ctx, holds("source-0", "2")); err != nil {
		return err
	}
	// A copy that somebody deletes comes back, because the copier owns it.
	if err := secrets.Delete(ctx, "source-0", metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := eventually(ctx, holds("source-0", "2")); err != nil {
		return err
	}
	// A deleted source waits for its finalizer, and its copy goes with it.
	if err := maps.Delete(ctx, "source-1", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return eventually(ctx, func() error {
		if _, err := maps.Get(ctx, "source-1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the source is still there: %v", err)
		}
		if _, err := secrets.Get(ctx, "source-1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the copy is still there: %v", err)
		}
		return nil
	})
}
