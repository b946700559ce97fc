package codec_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"example.com/ferry/codec"
	"example.com/ferry/codec/y3"
)

// plain is a codec that is no Appender.
type plain struct{ codec.Codec }

var errMarshal = errors.New("no")

func (plain) Marshal(v any) ([]byte, error) {
	if v == nil {
		return []byte("half"), errMarshal
	}
	return fmt.Append(nil, v), nil
}

func TestAppendWithoutAppender(t *testing.T) {
	t.Parallel()
	if got, err := codec.Append(plain{}, []byte("n="), 5); err != nil || string(got) != "n=5" {
		t.Errorf("got %q, %v, want n=5", got, err)
	}
	if got, err := codec.Append(plain{}, []byte("n="), nil); !errors.Is(err, errMarshal) || string(got) != "n=" {
		t.Errorf("got %q, %v, want dst as it was and %v", got, err, errMarshal)
	}
}

// bytesOnly is a codec that is a Checker.
type bytesOnly struct{ plain }

var errType = errors.New("not bytes")

func (bytesOnly) CheckType(t reflect.Type) error {
	if t != reflect.TypeFor[[]byte]() {
		return errType
	}
	return nil
}

func TestCheckType(t *testing.T) {
	t.Parallel()
	if err := codec.CheckType(plain{}, reflect.TypeFor[chan int]()); err != nil {
		t.Errorf("got %v of a codec that is no Checker, want nil", err)
	}
	if err := codec.CheckType(bytesOnly{}, reflect.TypeFor[string]()); !errors.Is(err, errType) {
		t.Errorf("got %v, want the codec's error", err)
	}
	if err := codec.CheckType(bytesOnly{}, reflect.TypeFor[[]byte]()); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func ExampleAppend() {
	buf := make([]byte, 0, 64)
	buf, err := codec.Append(y3.Codec{}, buf, int32(5))
	fmt.Printf("% x %v\n", buf, err)
	// Output: 81 03 10 01 05 <nil>
}
