package password

import (
	"fmt"
	"slices"
	"strings"

	"example.com/ferry/internal/topic"
)

// ACL are the grants of an acl_file of mosquitto, as broker.Identity has them.
type ACL struct {
	Users   map[string]Grants
	Pattern Grants // of every user, with ${user} and ${client} in the place of %u and %c
	Open    Grants // of clients without a user
}

// Grants are filters.
type Grants struct{ Publish, Subscribe []string }

// Of returns the grants of a user.
func (a ACL) Of(user string) Grants {
	g := a.Users[user]
	return Grants{append(slices.Clip(g.Publish), a.Pattern.Publish...), append(slices.Clip(g.Subscribe), a.Pattern.Subscribe...)}
}

// ParseACL reads an acl_file: lines user NAME, topic [read|write|readwrite] FILTER and pattern [read|write|readwrite] FILTER. A line of topics before the
// first user is for clients without one. deny is refused: what a client may do is a list of grants here.
func ParseACL(data []byte) (ACL, error) {
	acl := ACL{Users: map[string]Grants{}}
	user, named := "", false
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		at := fmt.Sprintf("line %d", i+1)
		switch word {
		case "user":
			if rest == "" {
				return ACL{}, fmt.Errorf("%s: user has no name", at)
			}
			user, named = rest, true
		case "topic", "pattern":
			access, filter, err := access(rest)
			if err != nil {
				return ACL{}, fmt.Errorf("%s: %w", at, err)
			}
			filter = strings.ReplaceAll(filter, "${", "$${") // mosquitto knows no ${user}
			switch {
			case word == "pattern":
				filter = strings.NewReplacer("%u", "${user}", "%c", "${client}").Replace(filter)
				acl.Pattern.add(access, filter)
			case named:
				g := acl.Users[user]
				g.add(access, filter)
				acl.Users[user] = g
			default:
				acl.Open.add(access, filter)
			}
		default:
			return ACL{}, fmt.Errorf("%s: %q is not known: want user, topic or pattern", at, word)
		}
	}
	return acl, nil
}

// access splits [read|write|readwrite] FILTER.
func access(text string) (access, filter string, err error) {
	access, filter, ok := strings.Cut(text, " ")
	filter = strings.TrimSpace(filter)
	switch {
	case !ok:
		access, filter = "readwrite", text
	case access == "deny":
		return "", "", fmt.Errorf("deny %s: there is no deny here; grant what is allowed instead", filter)
	case access != "read" && access != "write" && access != "readwrite":
		access, filter = "readwrite", text // a filter with a space
	}
	if err := topic.CheckFilter(filter); err != nil {
		return "", "", err
	}
	return access, filter, nil
}

func (g *Grants) add(access, filter string) {
	if access != "write" {
		g.Subscribe = append(g.Subscribe, filter)
	}
	if access != "read" {
		g.Publish = append(g.Publish, filter)
	}
}
