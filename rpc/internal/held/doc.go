// Package held counts the bytes that a server of calls holds for its clients: requests that were read, messages that were expanded, and
// responses that wait to be written. Each connection has an Account, and all connections of a listener share a Server. Every protocol of calls
// charges them, so each limit is kept in one place.
package held
