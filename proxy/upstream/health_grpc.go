package upstream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	grpcHealthPath = "/grpc.health.v1.Health/Check"
	maxService     = 1 << 10 // bytes of Health.Service
	maxGRPCMessage = 4 << 10 // bytes of a HealthCheckResponse with its prefix
	grpcPrefix     = 5       // bytes before a message: a flag for compression and the length
)

// probeGRPC returns a probe that calls Check of gRPC's health service and expects SERVING. The protocol is
// https://github.com/grpc/grpc/blob/master/doc/health-checking.md, in messages of grpc/health/v1/health.proto.
func probeGRPC(h *Health) probe {
	message := appendHealthRequest(nil, h.Service)
	return func(ctx context.Context, to probed) error {
		conn, err := to.connect(ctx, HTTP2)
		if err != nil {
			return err
		}
		defer conn.Close()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url(conn, to.host, grpcHealthPath), bytes.NewReader(message))
		if err != nil {
			return err
		}
		request.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "User-Agent": {"ferry"}}
		if end, ok := ctx.Deadline(); ok {
			request.Header.Set("Grpc-Timeout", strconv.FormatInt(max(time.Until(end).Milliseconds(), 1), 10)+"m")
		}
		response, err := overHTTP2(conn).RoundTrip(request)
		if err != nil {
			return contextOr(ctx, err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", response.StatusCode)
		}
		body, err := io.ReadAll(io.LimitReader(response.Body, maxGRPCMessage+1))
		if err != nil {
			return contextOr(ctx, err)
		}
		if len(body) > maxGRPCMessage {
			return fmt.Errorf("the response has more than %d bytes", maxGRPCMessage)
		}
		return healthResult(response, body)
	}
}

// appendHealthRequest appends a HealthCheckRequest with its prefix. Its field 1 is the name of the service.
func appendHealthRequest(b []byte, service string) []byte {
	var message []byte
	if service != "" {
		message = append(message, 1<<3|wireBytes)
		message = binary.AppendUvarint(message, uint64(len(service)))
		message = append(message, service...)
	}
	b = append(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(message)))
	return append(b, message...)
}

// healthResult returns nil if the response says that the service is serving.
func healthResult(r *http.Response, body []byte) error {
	status := r.Trailer.Get("Grpc-Status")
	if status == "" {
		status = r.Header.Get("Grpc-Status") // of a response without a body
	}
	switch status {
	case "0":
	case "":
		return errors.New("no grpc-status: the server does not speak gRPC")
	case "5":
		return errors.New("grpc-status 5: the server does not know the service")
	case "12":
		return errors.New("grpc-status 12: the server has no health service")
	default:
		return fmt.Errorf("grpc-status %.20q", status)
	}
	if len(body) < grpcPrefix || body[0] != 0 || uint64(binary.BigEndian.Uint32(body[1:])) != uint64(len(body)-grpcPrefix) {
		return fmt.Errorf("the response is not one message of gRPC without compression: %d bytes", len(body))
	}
	serving, err := servingStatus(body[grpcPrefix:])
	if err != nil {
		return err
	}
	if serving != statusServing {
		return fmt.Errorf("the service is %s", servingName(serving))
	}
	return nil
}

// statusServing is the value SERVING of HealthCheckResponse.ServingStatus.
const statusServing = 1

func servingName(status uint64) string {
	names := [...]string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"}
	if status < uint64(len(names)) {
		return names[status]
	}
	return "in status " + strconv.FormatUint(status, 10)
}

// Wire types of protobuf (https://protobuf.dev/programming-guides/encoding).
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// servingStatus returns field 1 of a HealthCheckResponse. It skips other fields, which later versions may add.
func servingStatus(message []byte) (status uint64, err error) {
	malformed := errors.New("the HealthCheckResponse is malformed")
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return 0, malformed
		}
		message = message[n:]
		skip := uint64(0)
		switch tag & 7 {
		case wireVarint:
			value, n := binary.Uvarint(message)
			if n <= 0 {
				return 0, malformed
			}
			if tag>>3 == 1 {
				status = value
			}
			skip = uint64(n)
		case wireFixed64:
			skip = 8
		case wireFixed32:
			skip = 4
		case wireBytes:
			size, n := binary.Uvarint(message)
			if n <= 0 || size > uint64(len(message)) {
				return 0, malformed
			}
			skip = uint64(n) + size
		default:
			return 0, malformed
		}
		if skip > uint64(len(message)) {
			return 0, malformed
		}
		message = message[skip:]
	}
	return status, nil
}
