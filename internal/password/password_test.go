package password

import (
	"strings"
	"testing"
)

// The hashes of "secret" by mosquitto_passwd 2.0, by bcrypt (golang.org/x/crypto, cost 4) and by argon2 (the program, -id -t 1 -m 6).
var hashes = map[string]Hash{
	"mosquitto pbkdf2": "$7$101$c4uIH31AAfFwO76p$osKFzIFE/QGIVp1SKYS9c6dV59AjmiB76xnOPEkjHyeo1Wo2GywZXPzHx0J23/VmKrnxVykBcvJpQ1P11qhQcQ==",
	"mosquitto sha512": "$6$K9mBvydC9k6Yqtsa$MuaMYBrtwtb0oq3NFpymRSR7n2HmQevGw7CJFo1SFaQZPf8gBic9mfUnepckvabo9TV83YA+WLSP26qJm1zz0Q==",
}

func TestMatches(t *testing.T) {
	made, err := New([]byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	hashes["ours"] = made
	for name, h := range hashes {
		if err := h.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !h.Matches([]byte("secret")) || h.Matches([]byte("Secret")) || h.Matches(nil) {
			t.Errorf("%s: it matches another password, or not its own", name)
		}
		for n := range len(h) {
			if h[:n].Matches([]byte("secret")) {
				t.Errorf("%s: the first %d bytes match", name, n)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for _, h := range []Hash{
		"", "secret", "$", "$5$a$b", "$2b$31$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"$argon2id$v=19$m=1048576,t=1,p=1$c2FsdHNhbHQ$a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5", "$7$99999999$c4uIH31AAfFwO76p$osKF", "$6$$",
	} {
		if err := h.Check(); err == nil {
			t.Errorf("%q is accepted", h)
		}
	}
	four := Hash("$argon2id$v=19$m=64,t=1,p=4$c2FsdHNhbHQ$a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5")
	if err := four.Check(); err != nil || four.Threads() != 4 || hashes["mosquitto sha512"].Threads() != 1 {
		t.Errorf("argon2 with 4 threads: %v, %d threads", err, four.Threads())
	}
	if err := Hash(strings.Replace(string(four), "p=4", "p=5", 1)).Check(); err == nil {
		t.Error("argon2 with 5 threads is accepted")
	}
	if _, err := New(nil); err == nil {
		t.Error("an empty password is accepted")
	}
}

func TestFile(t *testing.T) {
	text := "# users\n\ndev:" + string(hashes["mosquitto sha512"]) + "\r\nold:" + string(hashes["mosquitto pbkdf2"])
	users, err := ParseFile([]byte(text))
	if err != nil || len(users) != 2 || users[0].Name != "dev" || !users[0].Hash.Matches([]byte("secret")) || users[1].Name != "old" {
		t.Errorf("got %v, %v", users, err)
	}
	changed, found := Set([]byte(text), "old", hashes["mosquitto sha512"])
	if users, err := ParseFile(changed); err != nil || !found || len(users) != 2 || users[1] != (User{"old", hashes["mosquitto sha512"]}) {
		t.Errorf("a user that is changed: %q %v %v", changed, found, err)
	}
	changed, found = Set(changed, "dev", "")
	if want := "# users\n\nold:" + string(hashes["mosquitto sha512"]) + "\n"; string(changed) != want || !found {
		t.Errorf("a user that is removed: got %q, want %q", changed, want)
	}
	for text, want := range map[string]string{"dev": "line 1: want USER:HASH", "\ndev:secret": "line 2: user \"dev\"", "a:$6$x$y\n": "malformed"} {
		if _, err := ParseFile([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	twice := "dev:" + string(hashes["mosquitto sha512"]) + "\n"
	if _, err := ParseFile([]byte(twice + twice)); err == nil || !strings.Contains(err.Error(), "is in line 1, too") {
		t.Errorf("a user twice: got %v", err)
	}
}

func TestACL(t *testing.T) {
	acl, err := ParseACL([]byte("# all\ntopic read news/#\n\nuser dev\ntopic sensors/dev/#\ntopic write log\ntopic a b/c\ntopic read x/${user}/%u\nuser admin\ntopic readwrite #\npattern read devices/%u/%c/${client}\n"))
	if err != nil {
		t.Fatal(err)
	}
	join := func(g Grants) string { return strings.Join(g.Publish, ",") + " " + strings.Join(g.Subscribe, ",") }
	for what, row := range map[string][2]string{
		"open": {join(acl.Open), " news/#"}, "pattern": {join(acl.Pattern), " devices/${user}/${client}/$${client}"},
		"dev": {join(acl.Users["dev"]), "sensors/dev/#,log,a b/c sensors/dev/#,a b/c,x/$${user}/%u"}, "admin": {join(acl.Users["admin"]), "# #"},
	} {
		if row[0] != row[1] {
			t.Errorf("%s: got %q, want %q", what, row[0], row[1])
		}
	}
	for text, want := range map[string]string{"topic deny a/#": "line 1: deny a/#", "\nallow x": "line 2: \"allow\"", "topic read": "", "user": "user has no name", "topic a/#/b": "line 1"} {
		if _, err := ParseACL([]byte(text)); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
