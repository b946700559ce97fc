package cli

import (
	"bufio"
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/ferry/protocol/mqtt"
)

// login connects to an MQTT listener as client pump-1 and returns the code of CONNACK.
func login(t *testing.T, address, user, secret string) mqtt.ReasonCode {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	connect, err := mqtt.AppendConnect(nil, &mqtt.ConnectPacket{Version: mqtt.V5, ClientID: []byte("pump-1"), User: []byte(user), Password: []byte(secret)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(connect); err != nil {
		t.Fatal(err)
	}
	var b []byte
	for {
		p, need, err := mqtt.Next(b, mqtt.Limits{Version: mqtt.V5, FromServer: true})
		if err != nil {
			t.Fatal(err)
		}
		if need == 0 {
			ack, err := mqtt.ParseConnack(p)
			if err != nil {
				t.Fatal(err)
			}
			return ack.Code
		}
		var more [512]byte
		n, err := conn.Read(more[:])
		if b = append(b, more[:n]...); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPasswords: what ferry passwd writes lets MQTT users in, and a running node follows it.
func TestPasswords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	users, acl := filepath.Join(dir, "users"), filepath.Join(dir, "acl")
	set := func(secret string, args ...string) {
		t.Helper()
		if got := ferryWith(secret+"\n", append([]string{"passwd"}, args...)...); got.status != 0 {
			t.Fatalf("ferry passwd %v: %+v", args, got)
		}
	}
	// The first line is mosquitto_passwd's, of "secret".
	if err := os.WriteFile(users, []byte("old:$7$101$c4uIH31AAfFwO76p$osKFzIFE/QGIVp1SKYS9c6dV59AjmiB76xnOPEkjHyeo1Wo2GywZXPzHx0J23/VmKrnxVykBcvJpQ1P11qhQcQ==\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(acl, []byte("user old\ntopic #\npattern readwrite pumps/%c/#\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set("short", users, "dev")
	if err := os.WriteFile(filepath.Join(dir, "node.yaml"), []byte("listeners: [{address: 'mqtt://127.0.0.1:0'}]\nmqtt: {password_file: users, acl_file: acl}\nadmin: {address: '127.0.0.1:0'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := ferryProcess(ctx, "run", "-c", "node.yaml")
	cmd.Dir = dir
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	await := func(text string) string {
		t.Helper()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%v before %q", err, text)
			}
			if strings.Contains(line, text) {
				return line
			}
		}
	}
	address := regexp.MustCompile(`mqtt://([0-9.:]+)`).FindStringSubmatch(await("node ready"))[1]
	for user, secret := range map[string]string{"dev": "short", "old": "secret"} {
		if code := login(t, address, user, secret); code != mqtt.Success {
			t.Errorf("user %s: %v", user, code)
		}
		if code := login(t, address, user, "wrong"); code != mqtt.BadUserNameOrPassword {
			t.Errorf("user %s with a wrong password: %v", user, code)
		}
	}
	await("login refused")
	set("another", users, "dev")
	await("configuration applied")
	if code := login(t, address, "dev", "another"); code != mqtt.Success {
		t.Errorf("the new password: %v", code)
	}
	if code := login(t, address, "dev", "short"); code != mqtt.BadUserNameOrPassword {
		t.Errorf("the password before: %v", code)
	}
	set("", "-D", users, "dev")
	await("configuration applied")
	cancel()
	_ = cmd.Wait()
	if data, err := os.ReadFile(users); err != nil || strings.Contains(string(data), "dev") || !strings.Contains(string(data), "old:") {
		t.Errorf("after -D: %q, %v", data, err)
	}
}
