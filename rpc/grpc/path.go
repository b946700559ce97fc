package grpc

import (
	"strings"

	"example.com/ferry/rpc/call"
)

// appendPath appends the path of a method: /greeter.Greeter/Hello for greeter.Greeter.Hello.
func appendPath(dst []byte, method string) ([]byte, *call.Status) {
	i := strings.LastIndexByte(method, '.')
	if i <= 0 || i == len(method)-1 || !validPath(method) {
		return dst, statusf(call.InvalidArgument, "grpc: %q is no full method name: write one such as greeter.Greeter.Hello", method)
	}
	dst = append(append(dst, '/'), method[:i]...)
	return append(append(dst, '/'), method[i+1:]...), nil
}

// methodOf returns the method's name for a path, or an empty string if the path has not the form of gRPC's. Each name has one path, so a
// proxy that allows paths allows methods.
func methodOf(path []byte) string {
	s := string(path)
	i := strings.LastIndexByte(s, '/')
	if i <= 1 || s[0] != '/' || i == len(s)-1 || strings.IndexByte(s[1:i], '/') >= 0 || strings.IndexByte(s[i:], '.') >= 0 {
		return ""
	}
	return s[1:i] + "." + s[i+1:]
}

// validPath reports whether a name can stand in a path.
func validPath(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '/' || c == '?' || c == '#' {
			return false
		}
	}
	return true
}
