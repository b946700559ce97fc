package rpc

import (
	"encoding/binary"
	"fmt"
	"slices"

	"example.com/ferry/codec"
)

// healthCodec is protobuf for HealthRequest and HealthResponse: each has one field with the number 1. grpc/health/v1/health.proto
type healthCodec struct{}

var (
	_ codec.Codec    = healthCodec{}
	_ codec.Appender = healthCodec{}
)

// healthStatuses are the names of HealthCheckResponse.ServingStatus.
var healthStatuses = []string{"UNKNOWN", serving, notServing, serviceUnknown}

const (
	serviceField = 1<<3 | 2 // field 1, length-delimited
	statusField  = 1 << 3   // field 1, varint
)

func (healthCodec) Name() string { return "protobuf" }

func (c healthCodec) Marshal(v any) ([]byte, error) { return c.Append(nil, v) }

func (healthCodec) Append(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case *HealthRequest:
		if v.Service == "" {
			return dst, nil
		}
		dst = binary.AppendUvarint(append(dst, serviceField), uint64(len(v.Service)))
		return append(dst, v.Service...), nil
	case *HealthResponse:
		if i := slices.Index(healthStatuses, v.Status); i > 0 {
			return append(dst, statusField, byte(i)), nil
		}
		return dst, nil
	}
	return dst, fmt.Errorf("rpc: marshal %T: only health messages can be written", v)
}

func (healthCodec) Unmarshal(data []byte, v any) error {
	at := 0
	for at < len(data) {
		key, n := binary.Uvarint(data[at:])
		value, m := binary.Uvarint(data[at+max(n, 0):])
		kind := key & 7
		if n <= 0 || m <= 0 || kind != 0 && kind != 2 {
			return fmt.Errorf("rpc: health message: malformed field at offset %d", at)
		}
		at += n + m
		var text []byte
		if kind == 2 {
			if value > uint64(len(data)-at) {
				return fmt.Errorf("rpc: health message: length %d exceeds the %d bytes left at offset %d", value, len(data)-at, at)
			}
			text = data[at : at+int(value)]
			at += int(value)
		}
		switch v := v.(type) {
		case *HealthRequest:
			if key == serviceField {
				v.Service = string(text)
			}
		case *HealthResponse:
			if key == statusField {
				v.Status = healthStatuses[0]
				if value < uint64(len(healthStatuses)) {
					v.Status = healthStatuses[value]
				}
			}
		default:
			return fmt.Errorf("rpc: unmarshal %T: only health messages can be read", v)
		}
	}
	return nil
}
