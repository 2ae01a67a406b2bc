// Proves that clients made of client-go and controller-runtime work on the cluster that a kubeconfig names.
//
// Usage: goclients KUBECONFIG. It prints a line for each proof and ends with 0 when all of them hold.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// patience is how long one proof may take. Every proof takes a second or two; a slow machine gets its time.
const patience = 60 * time.Second

// stand is where a proof happens: a namespace of its own on the cluster.
type stand struct {
	// plain speaks JSON, binary speaks protobuf where it can.
	plain, binary *rest.Config
	client        kubernetes.Interface
	namespace     string
}

type proof struct {
	name string
	hold func(context.Context, *stand) error
}

var proofs = []proof{
	{"typed clients create, read, change, list and delete with protobuf", typedObjects},
	{"typed clients apply with ownership and meet conflicts", typedApply},
	{"typed informers follow lists and watches with protobuf", typedInformers},
	{"a watch with initial events ends them with an annotated bookmark", initialEvents},
	{"metadata informers see objects without their content", metadataInformers},
	{"the dynamic client serves custom resources and follows them", dynamicObjects},
	{"discovery names every kind once and is mapped", discovered},
	{"of several candidates one leads, and the next takes over", election},
	{"a controller-runtime manager caches, reconciles and is driven by changes", manager},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: goclients KUBECONFIG")
		os.Exit(2)
	}
	plain, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(2)
	}
	plain.QPS, plain.Burst = 500, 1000
	failures := 0
	for number, proof := range proofs {
		if err := prove(plain, number, proof); err != nil {
			failures++
			fmt.Printf("FAILED %s: %v\n", proof.name, err)
		} else {
			fmt.Printf("ok %s\n", proof.name)
		}
	}
	if failures > 0 {
		os.Exit(1)
	}
}

func prove(plain *rest.Config, number int, proof proof) error {
	binary := rest.CopyConfig(plain)
	binary.ContentType = "application/vnd.kubernetes.protobuf"
	// Alone, because a server may answer in JSON where it is told to take both.
	binary.AcceptContentTypes = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(binary)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("go-clients-%d", number)}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	defer func() {
		_ = client.CoreV1().Namespaces().Delete(context.Background(), namespace.Name, metav1.DeleteOptions{})
	}()
	return proof.hold(ctx, &stand{plain: plain, binary: binary, client: client, namespace: namespace.Name})
}

// eventually waits until holds returns nil, and returns its last complaint when time is up.
func eventually(ctx context.Context, holds func() error) error {
	for {
		err := holds()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("time is up: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"proof": "yes"}},
		Data:       map[string]string{"value": value},
	}
}
