package edge

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/internal/password"
)

// secretHash is mosquitto's hash of "secret", which takes little time to compare.
const secretHash = password.Hash("$6$K9mBvydC9k6Yqtsa$MuaMYBrtwtb0oq3NFpymRSR7n2HmQevGw7CJFo1SFaQZPf8gBic9mfUnepckvabo9TV83YA+WLSP26qJm1zz0Q==")

func check(l *Logins, user, addr, secret string) (err error) {
	var done sync.WaitGroup
	done.Add(1)
	decided, at := l.Check(user, addr, secretHash, user != "nobody", []byte(secret), func(e error) {
		err = e
		done.Done()
	})
	if decided {
		return at
	}
	done.Wait()
	return err
}

// TestLogins: five failures of a user from an address delay the next logins, twice as long each time, and delay no other user or address.
func TestLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLogins(LoginCallback{})
		want := func(what string, got, want error) {
			t.Helper()
			if !errors.Is(got, want) {
				t.Errorf("%s: got %v, want %v", what, got, want)
			}
		}
		for range 5 {
			want("a wrong password", check(l, "dev", "1.2.3.4:5", "wrong"), ErrPassword)
		}
		for _, penalty := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			want("within the penalty", check(l, "dev", "1.2.3.4:6", "secret"), ErrLoginsFailed)
			want("another address", check(l, "dev", "1.2.3.5:5", "secret"), nil)
			want("another user", check(l, "other", "1.2.3.4:5", "secret"), nil)
			time.Sleep(penalty - time.Millisecond)
			want("the end of the penalty", check(l, "dev", "1.2.3.4:6", "wrong"), ErrLoginsFailed)
			time.Sleep(2 * time.Millisecond)
			want("one more failure", check(l, "dev", "1.2.3.4:6", "wrong"), ErrPassword)
		}
		time.Sleep(8*time.Second + time.Millisecond)
		want("the right password", check(l, "dev", "1.2.3.4:6", "secret"), nil)
		for range 4 {
			want("failures are forgotten", check(l, "dev", "1.2.3.4:6", "wrong"), ErrPassword)
		}
		want("fewer than five failures", check(l, "dev", "1.2.3.4:6", "secret"), nil)
	})
}

// TestPenaltyOfNetwork: the addresses of one network of IPv6, of which a host has as many as it likes, are one.
func TestPenaltyOfNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLogins(LoginCallback{})
		for i := range ofUser {
			_ = check(l, "dev", fmt.Sprintf("[2001:db8::%x]:5", i), "wrong")
		}
		for addr, want := range map[string]error{"[2001:db8::ffff]:5": ErrLoginsFailed, "[2001:db8:0:1::1]:5": nil} {
			if err := check(l, "dev", addr, "secret"); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", addr, err, want)
			}
		}
		for i := range ofUser {
			_ = check(l, "dev", fmt.Sprintf("[::ffff:1.2.3.%d]:5", i), "wrong")
		}
		for addr, want := range map[string]error{"1.2.3.99:5": nil, "1.2.3.1:5": nil} {
			if err := check(l, "dev", addr, "secret"); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", addr, err, want)
			}
		}
	})
}

// TestUnknownUser: a user that is not known fails, also with the password of the user whose hash is compared, and is never remembered.
func TestUnknownUser(t *testing.T) {
	l := NewLogins(LoginCallback{})
	for range 3 {
		if err := check(l, "nobody", "1.2.3.4:5", "secret"); !errors.Is(err, ErrPassword) {
			t.Errorf("got %v, want %v", err, ErrPassword)
		}
	}
	if len(l.verified) > 0 {
		t.Error("it is remembered")
	}
}

// TestManyUsers: an address that tries many users has to wait, while the logins from it that are remembered, and other addresses, do not.
func TestManyUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLogins(LoginCallback{})
		if err := check(l, "dev", "1.2.3.4:5", "secret"); err != nil {
			t.Fatal(err)
		}
		for i := range ofHost {
			_ = check(l, fmt.Sprint("user", i), "1.2.3.4:5", "wrong")
		}
		if err := check(l, "fresh", "1.2.3.4:5", "secret"); !errors.Is(err, ErrLoginsFailed) {
			t.Errorf("a further user: got %v, want %v", err, ErrLoginsFailed)
		}
		if err := check(l, "dev", "1.2.3.4:5", "secret"); err != nil {
			t.Errorf("a login that is remembered: %v", err)
		}
		if err := check(l, "fresh", "1.2.3.5:5", "secret"); err != nil {
			t.Errorf("another address: %v", err)
		}
	})
}

// TestNamesOfPenalizedHost: an address that has to wait takes few of the places for failures, however many users it tries: the failures of others are not
// forgotten, nor its own. It cannot guess a password that is remembered either.
func TestNamesOfPenalizedHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLogins(LoginCallback{})
		if err := check(l, "dev", "1.2.3.4:5", "secret"); err != nil {
			t.Fatal(err)
		}
		for i := range ofHost {
			_ = check(l, fmt.Sprint("user", i), "1.2.3.4:5", "wrong")
		}
		before := len(l.failures)
		for i := range 1000 {
			if err := check(l, fmt.Sprint("name", i), "1.2.3.4:5", "wrong"); !errors.Is(err, ErrLoginsFailed) {
				t.Fatalf("user %d: got %v, want %v", i, err, ErrLoginsFailed)
			}
		}
		if more := len(l.failures) - before; more > sharedOfHost {
			t.Errorf("1000 users take %d places, want at most %d", more, sharedOfHost)
		}
		for range ofUser {
			_ = check(l, "dev", "1.2.3.4:5", "wrong")
		}
		if err := check(l, "dev", "1.2.3.4:5", "secret"); !errors.Is(err, ErrLoginsFailed) {
			t.Errorf("a remembered login after wrong ones: got %v, want %v", err, ErrLoginsFailed)
		}
		time.Sleep(2 * maxPenalty)
		if err := check(l, "dev", "1.2.3.4:5", "secret"); err != nil {
			t.Errorf("after the penalty: %v", err)
		}
	})
}

// TestLoginsRemembered: a login that was right needs no comparison for a while, and one with another password or hash does.
func TestLoginsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLogins(LoginCallback{})
		if err := check(l, "dev", "1.2.3.4:5", "secret"); err != nil {
			t.Fatal(err)
		}
		at := func(user, secret string, hash password.Hash) (known bool) {
			l.comparing = lane{running: workers(), waiting: make([]login, waitingLogins)} // no comparison can begin
			defer func() { l.comparing, l.failures = lane{}, map[digest]*failures{} }()
			_, err := l.Check(user, "1.2.3.4:5", hash, true, []byte(secret), func(error) {})
			return !errors.Is(err, ErrLoginsBusy)
		}
		if !at("dev", "secret", secretHash) {
			t.Error("a login is compared again at once")
		}
		if at("dev", "wrong", secretHash) || at("other", "secret", secretHash) || at("dev", "secret", secretHash+"x") {
			t.Error("another login is remembered")
		}
		time.Sleep(rememberedTime)
		if at("dev", "secret", secretHash) {
			t.Error("a login is remembered for longer than it may")
		}
	})
}

// TestLoginsBounds: what is remembered of logins, right and wrong, is bounded.
func TestLoginsBounds(t *testing.T) {
	l := NewLogins(LoginCallback{})
	now := time.Now()
	for i := range maxFailures + 100 {
		l.settle(&login{from: digest{byte(i), byte(i >> 8), byte(i >> 16)}, host: digest{31: 1}}, LoginGrants{}, ErrPassword, now)
	}
	for i := range remembered + 100 {
		l.settle(&login{id: digest{byte(i), byte(i >> 8), byte(i >> 16)}}, LoginGrants{}, nil, now)
	}
	long := login{id: digest{31: 2}} // a client chooses its identifier, so it logs in as often as it likes
	l.settle(&long, LoginGrants{Publish: slices.Repeat([]string{"a"}, rememberedGrants)}, nil, now)
	if _, kept := l.verified[long.id]; kept {
		t.Error("many grants are remembered")
	}
	if len(l.failures) > maxFailures || len(l.verified) > remembered {
		t.Errorf("%d failures, %d logins", len(l.failures), len(l.verified))
	}
}

// TestFailuresOfLongNames: an address that sends long names of users does not make the Logins keep them.
func TestFailuresOfLongNames(t *testing.T) {
	l := NewLogins(LoginCallback{})
	for i := range ofHost + 200 {
		_ = check(l, fmt.Sprint(i)+strings.Repeat("x", 60_000), "1.2.3.4:5", "wrong")
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	failures := len(l.failures)
	l.failures = nil
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(before.HeapAlloc) - int64(after.HeapAlloc); kept > int64(failures)<<10 {
		t.Errorf("%d failures hold %d bytes", failures, kept)
	}
}

// TestMakeRoom: a full map loses what is over first, and looks at few entries, because the event loops wait meanwhile.
func TestMakeRoom(t *testing.T) {
	m := map[int]bool{}
	for i := range 10_000 {
		m[i] = i != 0
	}
	calls := 0
	makeRoom(m, len(m), func(live bool) bool { calls++; return !live })
	if len(m) != 9_999 || calls > 100 {
		t.Errorf("%d entries are left, %d were looked at", len(m), calls)
	}
	for i := range 10_000 {
		m[i] = i%10 == 0
	}
	for len(m) > 9_900 {
		makeRoom(m, len(m), func(live bool) bool { return !live })
	}
	for i := 0; i < 10_000; i += 10 {
		if !m[i] {
			t.Fatalf("entry %d, which is not over, was removed", i)
		}
	}
}
