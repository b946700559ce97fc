package jsonrpc

import (
	"strings"
	"sync"

	"example.com/ferry/rpc/call"
)

// lister is a call.Service that lists its methods. rpc.Server implements it.
type lister interface{ Methods() []call.Method }

// methods finds the methods of a service by their full names, and by the ends of them.
type methods struct {
	service call.Service
	short   sync.Map // maps a short name, of which there are few, to its call.Method
}

// find returns the method with a name. A short name is the end of a full name, from a dot on; it stands for the one method that it
// fits. The error is Unimplemented; without an error the method may be nil, and the service then ends the call.
func (m *methods) find(name string) (call.Method, error) {
	if found := m.service.Method(name); found != nil {
		return found, nil
	}
	if known, ok := m.short.Load(name); ok {
		return known.(call.Method), nil
	}
	list, ok := m.service.(lister)
	if !ok || name == "" {
		return nil, nil
	}
	var found call.Method
	for _, candidate := range list.Methods() {
		full := candidate.Name()
		if len(full) <= len(name) || !strings.HasSuffix(full, name) || full[len(full)-len(name)-1] != '.' {
			continue
		}
		if found != nil {
			return nil, call.Errorf(call.Unimplemented, "method %s may be %s or %s: use the full name", name, found.Name(), full)
		}
		found = candidate
	}
	if found != nil {
		m.short.Store(name, found)
	}
	return found, nil
}
