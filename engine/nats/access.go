package nats

import (
	"crypto/rand"
	"crypto/subtle"
	"log/slog"

	"github.com/nats-io/nats-server/v2/server"
)

// Client is a NATS client of the listener, as it introduces itself.
type Client struct {
	User, Password string
	Token          string
}

// Access is what a Client may do.
type Access struct {
	Name      string   // of the identity, for the log
	Publish   []string // filters of the tags that it may publish on
	Subscribe []string // filters of the tags that it may subscribe to
}

// inboxPrefix begins the subjects on which the engine receives records and acknowledgements. No Access covers it. The subjects of
// NATS, _INBOX, are for the clients of the listener.
const inboxPrefix = "_FERRY"

// gate authenticates the connections of an embedded server: the engine's own, by a random password, and those of the listener.
type gate struct {
	password     string // of the engine's own connections
	authenticate func(Client) (Access, error)
	log          *slog.Logger
}

func newGate(authenticate func(Client) (Access, error), log *slog.Logger) *gate {
	return &gate{password: rand.Text(), authenticate: authenticate, log: log}
}

var _ server.Authentication = (*gate)(nil)

// Check implements server.Authentication.
func (g *gate) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	if o.Username == ownUser && subtle.ConstantTimeCompare([]byte(o.Password), []byte(g.password)) == 1 {
		c.RegisterUser(&server.User{Username: ownUser})
		return true
	}
	if c.Kind() != server.CLIENT || g.authenticate == nil {
		return false
	}
	access, err := g.authenticate(Client{User: o.Username, Password: o.Password, Token: o.Token})
	if err != nil {
		g.log.Warn("engine: a NATS client was refused", "err", err)
		return false
	}
	c.RegisterUser(&server.User{Username: access.Name, Permissions: permissions(access)})
	return true
}

const ownUser = "ferry"

// permissions allows the subjects of the tags, and inboxes for acknowledgements. A list that is nil would allow everything.
func permissions(a Access) *server.Permissions {
	p := &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{}},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
	}
	for _, filter := range a.Publish {
		p.Publish.Allow = append(p.Publish.Allow, filterSubjects(filter)...)
	}
	for _, filter := range a.Subscribe {
		p.Subscribe.Allow = append(p.Subscribe.Allow, filterSubjects(filter)...)
	}
	if len(p.Publish.Allow) == 0 {
		p.Publish.Deny = []string{">"}
	}
	return p
}
