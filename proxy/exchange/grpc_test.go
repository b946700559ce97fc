package exchange_test

import (
	"testing"

	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
)

func TestIsGRPC(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]bool{
		"application/grpc": true, "application/grpc+proto": true, "application/grpc;charset=utf-8": true,
		"application/grpc-web": false, "application/grpc-web+proto": false, "application/json": false, "": false,
	} {
		if got := exchange.IsGRPC(proxytest.Fields{{Name: "Content-Type", Value: contentType}}); got != want {
			t.Errorf("%q: %v, want %v", contentType, got, want)
		}
	}
	if exchange.IsGRPC(proxytest.Fields{}) {
		t.Error("a request without a content type is gRPC")
	}
}

func TestGRPCStatusOfARejection(t *testing.T) {
	t.Parallel()
	for why, want := range map[exchange.Rejection]int{
		exchange.NoRoute: 12, exchange.RateLimited: 14, exchange.Unavailable: 14, exchange.Overloaded: 14,
		exchange.BadGateway: 14, exchange.GatewayTimeout: 4, exchange.RequestTimeout: 4,
	} {
		if got, message := why.GRPCStatus(); got != want || message == "" || got != exchange.GRPCStatusOf(why.HTTPStatus()) {
			t.Errorf("rejection %d: gRPC status %d %q, want %d", why, got, message, want)
		}
	}
	if got, message := exchange.ServerCanceled.GRPCStatus(); got != 1 || message == "" {
		t.Errorf("a request that the server has canceled: gRPC status %d %q, want 1", got, message)
	}
	for status, want := range map[int]int{400: 13, 401: 16, 403: 7, 413: 2, 500: 2} {
		if got := exchange.GRPCStatusOf(status); got != want {
			t.Errorf("HTTP status %d: gRPC status %d, want %d", status, got, want)
		}
	}
}
