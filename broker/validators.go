package broker

import (
	"sync"

	"example.com/ferry"
	"example.com/ferry/format"
)

// validators holds what is known of recent messages, by payload type. A receiver borrows it for a batch. So a shape that one client's
// message has taught serves the messages of all clients, and the memory grows with the processors and not with the clients.
type validators [ferry.LastType + 1]*format.Validator

// validatorPool lends validators to receivers.
type validatorPool struct{ sync.Pool }

func (p *validatorPool) get() *validators {
	if v, ok := p.Get().(*validators); ok {
		return v
	}
	return new(validators)
}

// validatorOf returns the validator for payloads of type t, or nil if no format reads them or their type is private.
func (r *receiver) validatorOf(t ferry.Type) *format.Validator {
	if r.validators != nil && t <= ferry.LastType && r.validators[t] != nil {
		return r.validators[t]
	}
	return r.newValidator(t)
}

func (r *receiver) newValidator(t ferry.Type) *format.Validator {
	ft := r.session.listener.broker.formats[t]
	if ft == nil || t > ferry.LastType {
		return nil
	}
	if r.validators == nil {
		r.validators = r.session.listener.broker.validators.get()
	}
	if r.validators[t] == nil {
		r.validators[t] = format.NewValidator(ft, format.Options{})
	}
	return r.validators[t]
}

// returnValidators ends the use of validators by a batch.
func (r *receiver) returnValidators() {
	if r.validators != nil {
		r.session.listener.broker.validators.Put(r.validators)
		r.validators = nil
	}
}
