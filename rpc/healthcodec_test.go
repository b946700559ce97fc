package rpc

import (
	"bytes"
	"testing"
)

// TestHealthCodec: the bytes are those of grpc/health/v1/health.proto.
func TestHealthCodec(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		v, empty any
		want     string
	}{
		{&HealthRequest{}, &HealthRequest{}, ""},
		{&HealthRequest{"a.B"}, &HealthRequest{}, "\x0a\x03a.B"},
		{&HealthResponse{"UNKNOWN"}, &HealthResponse{}, ""},
		{&HealthResponse{"SERVING"}, &HealthResponse{}, "\x08\x01"},
		{&HealthResponse{"NOT_SERVING"}, &HealthResponse{}, "\x08\x02"},
		{&HealthResponse{"SERVICE_UNKNOWN"}, &HealthResponse{}, "\x08\x03"},
	} {
		data, err := healthCodec{}.Marshal(row.v)
		if err != nil || string(data) != row.want {
			t.Errorf("%+v: got %q, %v, want %q", row.v, data, err, row.want)
		}
		if err := (healthCodec{}).Unmarshal(data, row.empty); err != nil {
			t.Errorf("%q: %v", data, err)
		}
		if again, err := (healthCodec{}).Marshal(row.empty); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%q was read as %+v, %v", data, row.empty, err)
		}
	}
	for _, v := range []any{nil, "a", new(int)} {
		if _, err := (healthCodec{}).Marshal(v); err == nil {
			t.Errorf("%v was written", v)
		}
		if err := (healthCodec{}).Unmarshal([]byte("\x08\x01"), v); err == nil {
			t.Errorf("%v was read", v)
		}
	}
}

func FuzzHealthCodec(f *testing.F) {
	for _, seed := range []string{"", "\x08\x01", "\x0a\x03a.B", "\x0a\x05a.B", "\x08", "\x12\x02ab\x0a\x01a", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var q, again HealthRequest
		if err := (healthCodec{}).Unmarshal(data, &q); err == nil {
			written, err := healthCodec{}.Marshal(&q)
			if err != nil {
				t.Fatal(err)
			}
			if err := (healthCodec{}).Unmarshal(written, &again); err != nil || again != q {
				t.Errorf("%q was read as %+v, and what that is written as as %+v, %v", data, q, again, err)
			}
		}
		var r HealthResponse
		_ = (healthCodec{}).Unmarshal(data, &r) // no panic
	})
}
