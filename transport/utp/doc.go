// Package utp is the transport over uTP (BEP 29): ordered bytes on UDP whose congestion control, LEDBAT, gives way to other traffic.
// It is for bulk data over links that people share. It has no encryption, and costs more CPU than TCP.
//
// The library behind it is the reference implementation, in C++. So the transport is in binaries that are built with cgo, a C++ compiler
// and
//
//	go build -tags utp
//
// All other binaries refuse to dial and to listen, with an error that says so. They never use another transport instead.
//
// A Conn has no CloseWrite. A listener's port stays bound while connections that it accepted are open.
package utp
