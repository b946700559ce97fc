package hop

import (
	"sync"

	"example.com/ferry"
	"example.com/ferry/format"
)

// validators holds what is known of recent messages, by payload type. A receiver has it during a batch: so what the messages of one
// client teach is of use to all, and the memory grows with the processors and not with the clients.
type validators [ferry.LastType + 1]*format.Validator

// validatorPool lends validators to receivers.
type validatorPool struct{ sync.Pool }

func (p *validatorPool) get() *validators {
	if v, ok := p.Get().(*validators); ok {
		return v
	}
	return new(validators)
}

// validateFully validates a payload of type t on a tag in full. ft is the format of t.
func (r *receiver) validateFully(t ferry.Type, ft format.Format, tag uint32, payload []byte) error {
	if t > ferry.LastType {
		return ft.Validate(payload, format.Options{})
	}
	if r.validators == nil {
		r.validators = r.session.broker.validators.get()
	}
	v := r.validators[t]
	if v == nil {
		v = format.NewValidator(ft, format.Options{})
		r.validators[t] = v
	}
	return v.Validate(payload, tag)
}

// returnValidators ends the use of validators by a batch.
func (r *receiver) returnValidators() {
	if r.validators != nil {
		r.session.broker.validators.Put(r.validators)
		r.validators = nil
	}
}
