package rpc

import (
	"encoding/binary"
	"fmt"
	"slices"

	"example.com/ferry/codec"
	"example.com/ferry/format/protobuf"
)

// healthCodec is protobuf for HealthRequest and HealthResponse: each has one field with the number 1. grpc/health/v1/health.proto
type healthCodec struct{}

var (
	_ codec.Codec    = healthCodec{}
	_ codec.Appender = healthCodec{}
)

// healthStatuses are the names of HealthCheckResponse.ServingStatus.
var healthStatuses = []string{"UNKNOWN", serving, notServing, serviceUnknown}

// healthField is the number of the one field of each message.
const healthField = 1

func (healthCodec) Name() string { return "protobuf" }

func (c healthCodec) Marshal(v any) ([]byte, error) { return c.Append(nil, v) }

func (healthCodec) Append(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case *HealthRequest:
		if v.Service == "" {
			return dst, nil
		}
		dst = binary.AppendUvarint(append(dst, healthField<<3|2), uint64(len(v.Service)))
		return append(dst, v.Service...), nil
	case *HealthResponse:
		if i := slices.Index(healthStatuses, v.Status); i > 0 {
			return append(dst, healthField<<3, byte(i)), nil
		}
		return dst, nil
	}
	return dst, fmt.Errorf("rpc: marshal %T: only health messages can be written", v)
}

func (healthCodec) Unmarshal(data []byte, v any) error {
	for pos := 0; pos < len(data); {
		r, err := protobuf.Next(data, pos)
		if err != nil {
			return fmt.Errorf("rpc: health message: %w", err)
		}
		content := data[r.Off:r.End]
		switch v := v.(type) {
		case *HealthRequest:
			if r.Number == healthField && r.Wire == 2 {
				v.Service = string(content)
			}
		case *HealthResponse:
			if r.Number == healthField && r.Wire == 0 {
				v.Status = healthStatuses[0]
				if n, _ := binary.Uvarint(content); n < uint64(len(healthStatuses)) {
					v.Status = healthStatuses[n]
				}
			}
		default:
			return fmt.Errorf("rpc: unmarshal %T: only health messages can be read", v)
		}
		pos = r.End
	}
	return nil
}
