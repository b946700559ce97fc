package node

import (
	"fmt"
	"slices"

	"example.com/ferry/broker"
	"example.com/ferry/node/config"
	"example.com/ferry/node/deploy"
)

// knownIdentities returns the set of credentials.
func (n *Node) knownIdentities(cfg *config.Config) (*broker.Identities, error) {
	all, err := n.credentials(cfg)
	if err != nil {
		return nil, err
	}
	return broker.NewIdentities(all)
}

// prepareIdentities reads the token files and makes the set of identities.
func (n *Node) prepareIdentities(r *reload) (change, error) {
	if n.broker == nil {
		return change{}, nil
	}
	next, err := n.knownIdentities(r.next)
	if err != nil {
		return change{}, fmt.Errorf("identities: %w", err)
	}
	what := differences(next.Differences(n.identities))
	if what == "" {
		return change{}, nil
	}
	return change{what: what, commit: func() {
		n.mu.Lock()
		n.identities = next
		n.mu.Unlock()
		n.broker.SetIdentities(next)
	}}, nil
}

// The identities that every node has.
const (
	localIdentity    = "local"    // has the token of the data directory, and every grant
	deployedIdentity = "deployed" // of the functions of ferry deploy
)

// credentials returns the identities that may connect: those that every node has, those of the configuration, and the users of its files.
func (n *Node) credentials(cfg *config.Config) ([]broker.Credential, error) {
	tags, services := []string{"#"}, []string{"*", deploy.Service}
	deployed := broker.Identity{Name: deployedIdentity, Publish: tags, Subscribe: tags}
	if len(cfg.Deploy.Publish) > 0 {
		deployed.Publish = cfg.Deploy.Publish
	}
	if len(cfg.Deploy.Subscribe) > 0 {
		deployed.Subscribe = cfg.Deploy.Subscribe
	}
	all := []broker.Credential{{Identity: deployed, TokenHash: broker.HashToken([]byte(n.deployed.token))}, {
		Identity:  broker.Identity{Name: localIdentity, Publish: tags, Subscribe: tags, Call: services, Serve: services},
		TokenHash: broker.HashToken([]byte(n.id.Token())),
	}}
	logins, field, err := cfg.MQTT.Logins()
	if err != nil {
		return nil, fmt.Errorf("node: %s: %w", field, err)
	}
	named := map[string]bool{}
	for _, c := range cfg.Identities {
		named[c.Name] = true
		credential := broker.Credential{Identity: broker.Identity{Name: c.Name}, CommonName: c.CommonName}
		hash, _ := logins.Named(c, false)
		credential.Password = string(hash)
		credential.Open = c.Token == "" && c.TokenFile == "" && c.CommonName == "" && hash == "" // the anonymous identity of a listener
		_, more := logins.Named(c, credential.Open)
		if allowed(c, config.VerbPublish) {
			credential.Identity.Publish = append(slices.Clip(c.Publish), more.Publish...)
		}
		if allowed(c, config.VerbSubscribe) {
			credential.Identity.Subscribe = append(slices.Clip(c.Subscribe), more.Subscribe...)
		}
		if allowed(c, config.VerbCall) {
			credential.Identity.Call = c.Call
		}
		if allowed(c, config.VerbServe) {
			credential.Identity.Serve = c.Serve
		}
		credential.Identity.Forward = slices.Contains(c.Verbs, config.VerbForward)
		credential.Identity.TrustValidation = slices.Contains(c.Verbs, config.VerbTrustValidation)
		if slices.Contains(c.Verbs, config.VerbDeploy) {
			credential.Identity.Call = append(slices.Clip(credential.Identity.Call), deploy.Service)
		}
		if credential.TokenHash, field, err = c.TokenHash(); err != nil {
			return nil, fmt.Errorf("node: %s of identity %s: %w", field, c.Name, err)
		}
		all = append(all, credential)
	}
	for _, u := range logins.Users {
		if !named[u.Name] {
			g := logins.ACL.Of(u.Name)
			all = append(all, broker.Credential{Identity: broker.Identity{Name: u.Name, Publish: g.Publish, Subscribe: g.Subscribe}, Password: string(u.Hash)})
		}
	}
	return all, nil
}

func allowed(c config.Identity, v config.Verb) bool {
	return len(c.Verbs) == 0 || slices.Contains(c.Verbs, v)
}
