package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// writeSamples writes objects of every type: in round 0 with every field set, in round 1 with none, then at random.
//
// A sample is four byte strings, each after its length (32 bits, little endian): the object as protobuf, the same as
// JSON once it was read, what that JSON is as protobuf, and one of "same" (as the first), "other", "none" (the JSON
// can't be read back).
func writeSamples(out io.Writer, scheme *runtime.Scheme, all []kind, seed uint64, rounds int) {
	serializer := protobuf.NewSerializer(scheme, scheme)
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range rounds {
		for _, kind := range all {
			if kind.name == "WatchEvent" {
				// It has no kind of its own to be read by.
				continue
			}
			object := reflect.New(kind.goType)
			filler := filler{random: random, density: []float64{1, 0, 0.5, 0.15, 0.8}[min(round, 2+round%3)], whole: round == 0}
			filler.fill(object.Elem(), kind.name)
			setKind(object, kind)
			var wire bytes.Buffer
			if err := serializer.Encode(object.Interface().(runtime.Object), &wire); err != nil {
				fail("%s %s: %v", kind.apiVersion, kind.name, err)
			}
			read, _, err := serializer.Decode(wire.Bytes(), nil, nil)
			if err != nil {
				fail("%s %s: %v", kind.apiVersion, kind.name, err)
			}
			written, err := json.Marshal(read)
			if err != nil {
				fail("%s %s: %v", kind.apiVersion, kind.name, err)
			}
			again, verdict := bytes.Buffer{}, "none"
			back := reflect.New(kind.goType)
			if err := json.Unmarshal(written, back.Interface()); err == nil {
				if err := serializer.Encode(back.Interface().(runtime.Object), &again); err != nil {
					fail("%s %s: %v", kind.apiVersion, kind.name, err)
				}
				verdict = "other"
				if bytes.Equal(again.Bytes(), wire.Bytes()) {
					verdict = "same"
					again.Reset()
				}
			}
			for _, part := range [][]byte{wire.Bytes(), written, again.Bytes(), []byte(verdict)} {
				if err := binary.Write(out, binary.LittleEndian, uint32(len(part))); err != nil {
					fail("%v", err)
				}
				if _, err := out.Write(part); err != nil {
					fail("%v", err)
				}
			}
		}
	}
}

func setKind(object reflect.Value, kind kind) {
	if typed, ok := object.Interface().(runtime.Object); ok {
		typed.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(kind.apiVersion, kind.name))
	}
}

type filler struct {
	random  *rand.Rand
	density float64
	// whole sets every field to a value that depends on its name alone, so that the file compresses well.
	whole bool
	stack []reflect.Type
}

func (f *filler) chance() bool {
	return f.whole || f.random.Float64() < f.density
}

func (f *filler) pick(name string, count int) int {
	if f.whole {
		sum := 0
		for _, character := range name {
			sum = sum*31 + int(character)
		}
		return (sum & 0xffff) % count
	}
	return f.random.IntN(count)
}

var texts = []string{"a", "", "name-1", "é世", "<&>\u2028", "tab\tquote\"", "\x00", strings.Repeat("long ", 40), "bad\xff\xe4\xb8utf8"}
var quantities = []string{"1", "0", "500m", "1Gi", "1.5", "1000m", "1e3", "-3", "0.1Ki", "123456789012345678901", "12e-3", "1024Mi", "100n", "0.5n"}
var documents = []string{`{"a":1,"b":["x",true,null]}`, `"text"`, `12`, `-1.5`, `[]`, `{}`, `true`, `{"z":{"y":{"x":[1,2,{"é":"ü"}]}}}`}
var seconds = []int64{1700000000, 0, -1, 951782400, 253402300799, -62135596799, 4102444800, 1709164800, 253402300800, -62167219201, 9223372036854775, -9223372036854775}

func (f *filler) text(name string) string {
	if f.whole {
		return name
	}
	return texts[f.random.IntN(len(texts))]
}

func (f *filler) count() int {
	if f.whole {
		return 2
	}
	return f.random.IntN(4)
}

func (f *filler) integer(name string) int64 {
	if f.whole {
		return int64(f.pick(name, 1000) + 1)
	}
	return []int64{0, 1, -1, 127, 128, 300, 1<<31 - 1, -1 << 31, 1<<63 - 1, -1 << 63}[f.random.IntN(10)]
}

func (f *filler) leaf(value reflect.Value, name string) bool {
	switch target := value.Addr().Interface().(type) {
	case *metav1.Time:
		target.Time = time.Unix(seconds[f.pick(name, len(seconds))], int64(f.pick(name, 1e9)))
	case *metav1.MicroTime:
		target.Time = time.Unix(seconds[f.pick(name, len(seconds))], int64(f.pick(name, 1e9)))
	case *resource.Quantity:
		*target = resource.MustParse(quantities[f.pick(name, len(quantities))])
	case *intstr.IntOrString:
		*target = intstr.FromInt32(int32(f.integer(name)))
		if f.pick(name, 2) == 0 {
			*target = intstr.FromString(f.text(name))
		}
	case *runtime.RawExtension:
		target.Raw = []byte(documents[f.pick(name, len(documents))])
	case *metav1.FieldsV1:
		target.SetRawBytes([]byte(`{"f:metadata":{"f:name":{}}}`))
	default:
		if leaves[value.Type()] != "json" {
			return false
		}
		value.FieldByName("Raw").SetBytes([]byte(documents[f.pick(name, len(documents))]))
	}
	return true
}

func (f *filler) fill(value reflect.Value, name string) {
	if value.Kind() == reflect.Struct && f.leaf(value, name) {
		return
	}
	switch value.Kind() {
	case reflect.String:
		value.SetString(f.text(name))
	case reflect.Bool:
		value.SetBool(f.whole || f.random.IntN(2) == 0)
	case reflect.Int32:
		value.SetInt(int64(int32(f.integer(name))))
	case reflect.Int64:
		value.SetInt(f.integer(name))
	case reflect.Float64:
		value.SetFloat([]float64{1.5, 0, -3, 1e21, 1e-7, 1e20, 0.1, 123456789}[f.pick(name, 8)])
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		f.fill(value.Elem(), name)
	case reflect.Slice:
		f.fillSlice(value, name)
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		for at := range f.count() {
			element := reflect.New(value.Type().Elem()).Elem()
			f.fill(element, name)
			key := name + string(rune('a'+at))
			value.SetMapIndex(reflect.ValueOf(key).Convert(value.Type().Key()), element)
		}
	case reflect.Struct:
		f.fillStruct(value)
	default:
		fail("cannot fill %s", value.Type())
	}
}

func (f *filler) fillSlice(value reflect.Value, name string) {
	if value.Type().Elem().Kind() == reflect.Uint8 {
		value.SetBytes([]byte(f.text(name)))
		return
	}
	count := f.count()
	if f.whole && value.Type().Elem().Kind() == reflect.Struct {
		count = 1
	}
	value.Set(reflect.MakeSlice(value.Type(), count, count))
	// What a list of a kind holds is a sample of its own.
	if f.whole && len(f.stack) == 1 && name == "Items" {
		return
	}
	for at := range count {
		f.fill(value.Index(at), name)
	}
}

func (f *filler) fillStruct(value reflect.Value) {
	again := 0
	for _, outer := range f.stack {
		if outer == value.Type() {
			again++
		}
	}
	if again > 1 || (again > 0 && f.random.IntN(4) > 0) {
		return
	}
	f.stack = append(f.stack, value.Type())
	defer func() { f.stack = f.stack[:len(f.stack)-1] }()
	only := -1
	if choices[value.Type()] != "" && (f.whole || f.random.IntN(4) > 0) {
		only = f.pick(strings.Join([]string{"x", value.Type().Name()}, ""), value.NumField())
	}
	for at := range value.NumField() {
		field := value.Type().Field(at)
		if tag := field.Tag.Get("protobuf"); tag == "" || tag == "-" || (only >= 0 && at != only) || !f.chance() {
			continue
		}
		f.fill(value.Field(at), field.Name)
	}
}
