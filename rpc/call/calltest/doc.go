// Package calltest is the contract of a call.Protocol as tests.
//
//	func TestContract(t *testing.T) {
//		calltest.Run(t, calltest.Subject{Protocol: native.Protocol{}, Transport: tcp.New(nil)})
//	}
package calltest
