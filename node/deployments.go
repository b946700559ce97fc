package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/ferry/internal/invalid"
	"example.com/ferry/node/config"
	"example.com/ferry/node/deploy"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/stream/wasm"
)

// deployed are the functions that were deployed on the node. Node.applying is held where its store is used, once the node runs.
type deployed struct {
	store *deploy.Store
	token string // of the identity with which they connect; made at each start
}

// openDeployed reads the functions in the data directory.
func (n *Node) openDeployed(cfg *config.Config) (*deployed, error) {
	store, err := deploy.Open(filepath.Join(cfg.DataDir, "functions"))
	if err != nil {
		return nil, err
	}
	for _, err := range store.Damaged {
		n.log.Error("a deployed function, or a version of it, is left out", "err", err)
	}
	return &deployed{store, rand.Text()}, nil
}

// list returns the functions; none if the node has no streams.
func (d *deployed) list() []deploy.Function {
	if d == nil {
		return nil
	}
	return d.store.List()
}

// configsOf returns deployed functions as the configuration describes them.
func configsOf(list []deploy.Function, d *deployed) []config.Function {
	all := make([]config.Function, len(list))
	for i, f := range list {
		all[i] = f.InUse().Spec.Config(d.store.File(f))
	}
	return all
}

// versionOf returns the version of a deployed function; 0 if none of this name is deployed.
func (r *reload) versionOf(name string) int {
	for _, f := range r.deployed {
		if f.Name == name {
			return f.Current
		}
	}
	return 0
}

// addDeployed adds the deployed functions to those of the configuration, when the node is built. One that does not fit to the
// configuration any more is left out.
func (n *Node) addDeployed(cfg *config.Config) {
	r := &reload{next: cfg}
	for _, f := range n.deployed.list() {
		r.deployed = append(r.deployed, f)
		err := n.checkDeployed(r)
		if err == nil {
			var added *function
			if added, err = n.functionOf(f.InUse().Spec.Config(n.deployed.store.File(f)), r); err == nil {
				n.functions.list = append(n.functions.list, added)
				continue
			}
		}
		n.log.Error("a deployed function does not run", "function", f.Name, "err", err)
		r.deployed = r.deployed[:len(r.deployed)-1]
	}
}

// checkDeployed checks deployed functions together with the configuration, as if they were part of it.
func (n *Node) checkDeployed(r *reload) error {
	if len(r.deployed) == 0 {
		return nil
	}
	if most := r.next.Deploy.Functions; len(r.deployed) > most {
		return fmt.Errorf("%d functions are deployed: deploy.functions allows %d", len(r.deployed), max(most, 0))
	}
	all := *r.next
	first := len(all.Functions)
	all.Functions = append(slices.Clip(all.Functions), configsOf(r.deployed, n.deployed)...)
	var errs []error
	err := all.Check(n.extensions.Program())
	var found invalid.Errors
	if errors.As(err, &found) {
		for _, each := range found.Unwrap() {
			errs = append(errs, nameDeployed(each, first, r.deployed))
		}
	} else if err != nil {
		return err
	}
	for i, f := range all.Functions[first:] {
		for k, other := range all.Functions {
			if f.Durable != "" && k != first+i && other.Durable == f.Durable {
				errs = append(errs, fmt.Errorf("function %s: the durable %s is that of function %s: name another one", f.Name, f.Durable, other.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// nameDeployed writes the name of a deployed function in place of its number in the list of all functions.
func nameDeployed(err error, first int, list []deploy.Function) error {
	text := err.Error()
	for i, f := range list {
		if rest, ok := strings.CutPrefix(text, fmt.Sprintf("config: functions[%d].", first+i)); ok {
			return fmt.Errorf("function %s: %s", f.Name, rest)
		}
	}
	return err
}

// prepareDeploy checks what is deployed against the next configuration. Its grants are those of an identity.
func (n *Node) prepareDeploy(r *reload) (change, error) {
	if n.deployed == nil {
		return change{}, nil
	}
	if err := n.checkDeployed(r); err != nil {
		return change{}, fmt.Errorf("deploy: with this configuration a deployed function would not run: %w", err)
	}
	return change{what: strings.Join(r.last.Changed(r.next, "deploy"), ", ")}, nil
}

// deploy starts a function, or a further version of it, and keeps it in the data directory.
func (n *Node) deploy(spec deploy.Spec, module []byte) (deploy.Function, error) {
	return n.redeploy(func(cfg *config.Config, s *deploy.Store) (deploy.Function, error) {
		if !deploy.CheckName(spec.Name) {
			return deploy.Function{}, fmt.Errorf("deploy: %q is no name: want 1 to 64 letters, digits, dots, hyphens and underscores, and no dot first", spec.Name)
		}
		if len(spec.Observe) == 0 {
			old, err := s.Get(spec.Name)
			if err != nil {
				return old, fmt.Errorf("deploy: %s is new: say which tags it observes", spec.Name)
			}
			spec = old.InUse().Spec
		}
		if kept := s.Bytes() - s.Freed(spec.Name) + int64(len(module)); kept > int64(cfg.Deploy.Bytes) {
			return deploy.Function{}, fmt.Errorf("deploy: all modules together would have %d bytes: deploy.bytes allows %v; remove a function", kept, cfg.Deploy.Bytes)
		}
		return s.Add(spec, module, time.Now())
	}, (*deploy.Store).Discard)
}

// rollBack puts the version before the one in use in its place.
func (n *Node) rollBack(name string) (deploy.Function, error) {
	return n.redeploy(func(_ *config.Config, s *deploy.Store) (deploy.Function, error) { return s.RolledBack(name) },
		func(*deploy.Store, deploy.Function) {})
}

// redeploy puts what next returns in place of the function of the same name: it starts, then it is kept, then it takes over. If one of
// the first two fails, undo takes back what next has done.
func (n *Node) redeploy(next func(*config.Config, *deploy.Store) (deploy.Function, error), undo func(*deploy.Store, deploy.Function)) (deploy.Function, error) {
	n.applying.Lock()
	defer n.applying.Unlock()
	if n.serving == nil {
		return deploy.Function{}, errors.New("deploy: the node does not run, or is stopping")
	}
	s := n.deployed.store
	f, err := next(n.config(), s)
	if err != nil {
		return f, err
	}
	r := n.sameConfig(f.Name)
	if at := slices.IndexFunc(r.deployed, func(d deploy.Function) bool { return d.Name == f.Name }); at >= 0 {
		r.deployed[at] = f
	} else {
		r.deployed = append(r.deployed, f)
	}
	var c change
	if err = n.checkDeployed(r); err == nil {
		c, err = n.prepareFunctions(r)
	}
	if err == nil {
		if err = s.Commit(f); err != nil && c.abort != nil {
			c.abort()
		}
	}
	if err != nil {
		undo(s, f)
		return f, err
	}
	if c.commit != nil {
		c.commit()
	}
	n.log.Info("function deployed", "function", f.Name, "version", f.Current)
	return f, nil
}

// sameConfig returns a reload that changes one function at most.
func (n *Node) sameConfig(function string) *reload {
	cfg := n.config()
	return &reload{last: cfg, next: cfg, deployed: n.deployed.list(), only: function}
}

// removeDeployed stops and removes a function.
func (n *Node) removeDeployed(name string) error {
	n.applying.Lock()
	defer n.applying.Unlock()
	if n.serving == nil {
		return errors.New("deploy: the node does not run, or is stopping")
	}
	if err := n.deployed.store.Remove(name); err != nil {
		return err
	}
	c, err := n.prepareFunctions(n.sameConfig(name))
	if err != nil {
		return err
	}
	c.commit()
	n.log.Info("deployed function removed", "function", name)
	return nil
}

// serveDeployments serves the service by which functions are deployed, as one of the node's own clients.
func (n *Node) serveDeployments(s *serving) error {
	if n.deployed == nil || n.config().Deploy.Functions < 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, startTimeout)
	defer cancel()
	client, err := n.dial(ctx, "deploy")
	if err != nil {
		return err
	}
	srv := rpc.NewServer(&rpc.ServerConfig{MaxCalls: 4, Log: n.log})
	receiving := make(chan struct{}, 1) // one module in memory; further calls wait
	rpc.HandleClientStream(srv, deploy.MethodDeploy, func(ctx context.Context, in *rpc.Receiver[deploy.Piece]) (*deploy.Deployed, error) {
		select {
		case receiving <- struct{}{}:
			defer func() { <-receiving }()
			return n.receiveDeployment(in)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	rpc.Handle(srv, deploy.MethodRollback, func(_ context.Context, in *deploy.Target) (*deploy.Deployed, error) {
		return n.deployedStatus(n.rollBack(in.Name))
	})
	rpc.Handle(srv, deploy.MethodRemove, func(_ context.Context, in *deploy.Target) (*deploy.Target, error) {
		return in, deploymentError(n.removeDeployed(in.Name))
	})
	rpc.Handle(srv, deploy.MethodList, func(context.Context, *deploy.ListRequest) (*deploy.List, error) {
		n.applying.Lock()
		defer n.applying.Unlock()
		return &deploy.List{Functions: n.deployed.list()}, nil
	})
	s.parts.start("service of deployments", func() {
		if err := rpc.Serve(s.ctx, client, srv); err != nil && s.ctx.Err() == nil {
			n.log.Error("functions cannot be deployed any more", "err", err)
		}
		closeQuietly(client)
	})
	return nil
}

// receiveDeployment receives a module, and deploys it.
func (n *Node) receiveDeployment(in *rpc.Receiver[deploy.Piece]) (*deploy.Deployed, error) {
	spec, module, err := receiveModule(in.Recv)
	if err != nil {
		return nil, err
	}
	return n.deployedStatus(n.deploy(*spec, module))
}

// How long a module may take to arrive: the call holds the place for it. The time grows with what has arrived.
const (
	pieceTimeout = 10 * time.Second
	moduleRate   = 64 << 10 // bytes a second
)

// receiveModule receives the pieces of a module. One that is late ends the call, and with it the recv that waits.
func receiveModule(recv func() (*deploy.Piece, error)) (spec *deploy.Spec, module []byte, err error) {
	type received struct {
		piece *deploy.Piece
		err   error
	}
	began, pieces := time.Now(), make(chan received, 1)
	for {
		go func() {
			p, err := recv()
			pieces <- received{p, err}
		}()
		allowed := pieceTimeout + time.Duration(len(module))*time.Second/moduleRate
		var r received
		select {
		case r = <-pieces:
		case <-time.After(time.Until(began.Add(allowed))):
			return nil, nil, &call.Status{Code: call.DeadlineExceeded, Message: fmt.Sprintf(
				"the module arrives too slowly: %d bytes in %v; want %d bytes a second", len(module), allowed, moduleRate)}
		}
		switch {
		case errors.Is(r.err, io.EOF) && spec == nil:
			return nil, nil, &call.Status{Code: call.InvalidArgument, Message: "the first piece has no spec"}
		case errors.Is(r.err, io.EOF):
			return spec, module, nil
		case r.err != nil:
			return nil, nil, r.err
		case len(module)+len(r.piece.Data) > wasm.MaxGuest:
			return nil, nil, &call.Status{Code: call.InvalidArgument, Message: fmt.Sprintf("the module has more than %d bytes", wasm.MaxGuest)}
		}
		if spec == nil {
			spec = r.piece.Spec
		}
		module = append(module, r.piece.Data...)
	}
}

func (n *Node) deployedStatus(f deploy.Function, err error) (*deploy.Deployed, error) {
	if err != nil {
		return nil, deploymentError(err)
	}
	done := &deploy.Deployed{Name: f.Name, Version: f.Current, SHA256: f.InUse().SHA256}
	for _, running := range n.functions.all() {
		if running.Name == f.Name {
			done.Error = running.state().Error
		}
	}
	return done, nil
}

// deploymentError returns an error with a code.
func deploymentError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, deploy.ErrUnknown):
		return &call.Status{Code: call.NotFound, Message: err.Error()}
	}
	return &call.Status{Code: call.FailedPrecondition, Message: err.Error()}
}
