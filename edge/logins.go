package edge

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/internal/password"
)

// Errors of Logins.Check.
var (
	ErrPassword     = errors.New("edge: the password is not that of the user")
	ErrLoginsFailed = errors.New("edge: too many logins of this user have failed from this address: try again later")
	ErrLoginsBusy   = errors.New("edge: too many logins wait to be checked")
)

// Bounds of Logins.
const (
	waitingLogins    = 256              // logins that wait to be compared
	waitingOfOne     = 32               // of one address
	rememberedTime   = 10 * time.Minute // for which a login is not compared again
	remembered       = 64 << 10         // logins
	rememberedGrants = 1 << 10          // bytes of the grants of a login
	failureWindow    = time.Minute      // in which failures are counted together
	ofUser           = 5                // failures of a user from an address, of which the last one costs time
	ofHost           = 100              // the same of all users from an address
	maxPenalty       = 64 * time.Second // of one more failure
	maxFailures      = 16 << 10         // pairs of address and user
	sharedOfHost     = 64               // counts of failures that the users from an address share while it is refused
)

// Logins compares passwords with their hashes, which takes long on purpose: on goroutines of its own, of which as many run as there are CPUs but one. A
// login that was right is remembered for a while, by a keyed hash, so that many clients that come back at once are served at once. Users that the node does
// not know are those of a LoginCallback, if there is one. All methods may overlap.
type Logins struct {
	key      [32]byte // of the hashes of what is remembered; another one in each process
	callback LoginCallback

	mu        sync.Mutex
	comparing lane
	asking    lane
	from      map[digest]int // logins that wait, by host
	verified  map[digest]verified
	failures  map[digest]*failures // by login.from and login.host
}

// lane is a kind of check, of which a number run at once.
type lane struct {
	running int // threads of the checks
	waiting []login
	stats   LoginStats // without Waiting
}

// LoginStats says of one kind of check how many logins have ended in which way, and how many wait for it.
type LoginStats struct {
	Waiting     int
	Right       uint64 // after a check
	Remembered  uint64 // without one
	Wrong       uint64
	Delayed     uint64 // refused without a check: others have failed before
	Busy        uint64 // refused without a check: too many wait for theirs
	Unavailable uint64 // the callback has not decided
	Unusable    uint64 // the callback has granted what cannot be granted
}

// verified is a login that was right.
type verified struct {
	until  time.Time
	grants LoginGrants // of the callback
}

// digest stands for names, which may be long, in what is remembered.
type digest [sha256.Size]byte

type login struct {
	hash     password.Hash
	password []byte
	id       digest
	host     digest
	from     digest // host and user
	known    bool   // there is such a user
	lane     *lane
	threads  int          // of the check
	asked    LoginRequest // of a login that the callback is asked about, without the password
	resolve  func(LoginGrants) (*broker.Identity, error)
	done     func(*broker.Identity, error)
}

// most is how many threads check the logins of a lane, unless one check needs more.
func (l *Logins) most(in *lane) int {
	if in == &l.asking {
		return maxCallbacks
	}
	return workers()
}

// failures are failed logins from an address, of one user or of all.
type failures struct {
	count int
	last  time.Time
	until time.Time // before that, logins are refused
}

// NewLogins returns an empty Logins.
func NewLogins(callback LoginCallback) *Logins {
	l := &Logins{callback: callback, from: map[digest]int{}, verified: map[digest]verified{}, failures: map[digest]*failures{}}
	l.callback.Client = callback.client()
	_, _ = rand.Read(l.key[:]) // does not fail
	return l
}

// Asks reports whether users that the node does not know are to be passed to Ask.
func (l *Logins) Asks() bool { return l.callback.URL != "" }

// Stats returns the counters, of passwords that are compared and of the callback.
func (l *Logins) Stats() (passwords, callback LoginStats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	passwords, callback = l.comparing.stats, l.asking.stats
	passwords.Waiting, callback.Waiting = len(l.comparing.waiting), len(l.asking.waiting)
	return passwords, callback
}

// Ask asks the callback about a login, without its Password, which is secret. With decided, the result is identity and err, and done is not called; otherwise done is
// called once, on another goroutine. The result is what resolve returns for the grants of the client, or one of the errors above or ErrLoginsUnavailable. Grants that
// resolve refuses are not remembered. Ask copies secret.
func (l *Logins) Ask(r LoginRequest, secret []byte, resolve func(LoginGrants) (*broker.Identity, error), done func(*broker.Identity, error)) (decided bool, identity *broker.Identity, err error) {
	host := []byte(hostOf(r.Address))
	id := l.digest([]byte(r.User), secret, []byte(r.Client), host, []byte(r.Protocol))
	decided, grants, err := l.check(login{
		id: id, host: l.digest(host), from: l.digest(host, []byte(r.User)), lane: &l.asking, threads: 1, asked: r, resolve: resolve, done: done,
	}, secret)
	if !decided || err != nil {
		return decided, nil, err
	}
	identity, err = resolve(grants)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asking.stats.count(err, &l.asking.stats.Remembered); err != nil { // the configuration has changed: the next login asks again
		delete(l.verified, id)
	}
	return true, identity, err
}

// Check compares the password of a user who has connected from addr, HOST:PORT, with a hash. If known is false, there is no such user: the comparison takes
// its time and fails. With decided, the result is err, and done is not called; otherwise done is called once, on another goroutine. The
// result is nil or one of the errors above. Check copies secret.
func (l *Logins) Check(user, addr string, hash password.Hash, known bool, secret []byte, done func(error)) (decided bool, err error) {
	host := []byte(hostOf(addr))
	decided, _, err = l.check(login{
		hash: hash, id: l.digest([]byte(user), []byte(hash), secret), host: l.digest(host), from: l.digest(host, []byte(user)), known: known,
		lane: &l.comparing, threads: hash.Threads(), done: func(_ *broker.Identity, err error) { done(err) },
	}, secret)
	return decided, err
}

// check decides a login, or starts its check, or lets it wait for that.
func (l *Logins) check(at login, secret []byte) (decided bool, grants LoginGrants, err error) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if decided, grants, err = l.decide(&at, now); decided {
		if err != nil || at.resolve == nil { // otherwise Ask counts it, when the grants are resolved
			at.lane.stats.count(err, &at.lane.stats.Remembered)
		}
		return true, grants, err
	}
	at.password = append([]byte(nil), secret...)
	at.lane.waiting = append(at.lane.waiting, at)
	l.from[at.host]++
	l.start(at.lane)
	return false, grants, nil
}

// count counts a login that has ended with err, or in right if that is nil.
func (c *LoginStats) count(err error, right *uint64) {
	switch {
	case err == nil:
		*right++
	case errors.Is(err, ErrPassword):
		c.Wrong++
	case errors.Is(err, ErrLoginsFailed):
		c.Delayed++
	case errors.Is(err, ErrLoginsBusy):
		c.Busy++
	case errors.Is(err, ErrLoginsUnavailable):
		c.Unavailable++
	default:
		c.Unusable++
	}
}

// hostOf returns what failures are counted by: an address, or a network of IPv6, of which a host has all addresses.
func hostOf(addr string) string {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return addr
	}
	ip := at.Addr().Unmap()
	if ip.Is4() {
		return ip.String()
	}
	network, _ := ip.WithZone("").Prefix(64) // an address of IPv6 is longer
	return network.String()
}

// decide returns how a login ends that is not compared. The penalty comes before what is remembered: otherwise passwords could be guessed without one. The
// caller holds the lock.
func (l *Logins) decide(at *login, now time.Time) (decided bool, grants LoginGrants, err error) {
	refused, shared := l.penalized(at.host, now), at.shared()
	if l.penalized(at.from, now) || refused && l.penalized(shared, now) {
		return true, grants, ErrLoginsFailed
	}
	if v, known := l.verified[at.id]; known && now.Before(v.until) {
		delete(l.failures, at.from)
		return true, v.grants, nil
	}
	// A login that is refused without a comparison counts: the client has learned that nothing like it is remembered.
	switch {
	case refused:
		l.failed(shared, ofUser, now)
		return true, grants, ErrLoginsFailed
	case len(at.lane.waiting) >= waitingLogins || l.from[at.host] >= waitingOfOne:
		l.failed(at.from, ofUser, now)
		return true, grants, ErrLoginsBusy
	}
	return false, grants, nil
}

// shared is what counts failures of at, and of other users from its host, while the host is refused: it may try any number of names. Whether there is such a
// user makes no difference, so nothing tells that.
func (at *login) shared() digest {
	d := at.host
	d[0] ^= 1 + at.from[0]%sharedOfHost // not that of the host itself
	return d
}

func (l *Logins) penalized(from digest, now time.Time) bool {
	f := l.failures[from]
	return f != nil && now.Before(f.until)
}

// workers is how many threads compare at once.
func workers() int { return max(runtime.GOMAXPROCS(0)-1, 1) }

// digest returns what stands for the parts of a login.
func (l *Logins) digest(parts ...[]byte) (sum digest) {
	m := hmac.New(sha256.New, l.key[:])
	for _, part := range parts {
		part := sha256.Sum256(part) // of one length, so that no two logins look alike
		m.Write(part[:])
	}
	m.Sum(sum[:0])
	return sum
}

// outcome checks a login. err is nil, ErrPassword, ErrLoginsUnavailable, or why the grants cannot be granted.
func (l *Logins) outcome(at *login) (identity *broker.Identity, grants LoginGrants, err error) {
	if at.lane == &l.asking {
		at.asked.Password = string(at.password)
		if grants, err = l.callback.ask(at.asked); err == nil {
			identity, err = at.resolve(grants)
		}
		return identity, grants, err
	}
	if !at.hash.Matches(at.password) || !at.known {
		return nil, grants, ErrPassword
	}
	return nil, grants, nil
}

// start checks what waits in a lane, as far as there is room for its threads. The caller holds the lock.
func (l *Logins) start(in *lane) {
	for len(in.waiting) > 0 && (in.running == 0 || in.running+in.waiting[0].threads <= l.most(in)) {
		next := in.waiting[0]
		in.waiting[0] = login{}
		in.waiting = in.waiting[1:]
		if l.from[next.host]--; l.from[next.host] == 0 {
			delete(l.from, next.host)
		}
		in.running += next.threads
		go l.work(next)
	}
}

// work checks at.
func (l *Logins) work(at login) {
	identity, grants, err := l.outcome(&at)
	clear(at.password)
	l.mu.Lock()
	l.settle(&at, grants, err, time.Now())
	at.lane.stats.count(err, &at.lane.stats.Right)
	at.lane.running -= at.threads
	l.start(at.lane)
	l.mu.Unlock()
	at.done(identity, err)
}

// settle notes how a login has ended. One that nobody has decided is no failure of its client. The caller holds the lock.
func (l *Logins) settle(at *login, grants LoginGrants, err error, now time.Time) {
	switch {
	case err == nil:
		delete(l.failures, at.from)
		if grants.size() <= rememberedGrants {
			makeRoom(l.verified, remembered, func(v verified) bool { return !now.Before(v.until) })
			l.verified[at.id] = verified{now.Add(rememberedTime), grants}
		}
	case errors.Is(err, ErrPassword):
		l.failed(at.from, ofUser, now)
		l.failed(at.host, ofHost, now)
	}
}

// failed counts a failure, of which so many cost time. The caller holds the lock.
func (l *Logins) failed(from digest, most int, now time.Time) {
	f := l.failures[from]
	if f == nil {
		makeRoom(l.failures, maxFailures, func(f *failures) bool { return now.After(f.until) && now.Sub(f.last) > failureWindow })
		f = &failures{}
		l.failures[from] = f
	}
	if now.Sub(f.last) > failureWindow && now.Sub(f.until) > failureWindow {
		f.count = 0
	}
	f.count++
	if f.last = now; f.count >= most {
		f.until = now.Add(min(time.Second<<min(f.count-most, 16), maxPenalty))
	}
}

// looked is how many entries makeRoom looks at: the loops wait for the lock.
const looked = 16

// makeRoom removes entries that are over, of the first ones in the random order of a map, if there are as many as may be, and some other one if none is.
func makeRoom[K comparable, V any](m map[K]V, most int, over func(V) bool) {
	if len(m) < most {
		return
	}
	left := looked
	for k, v := range m {
		if over(v) {
			delete(m, k)
		}
		if left--; left == 0 {
			break
		}
	}
	for k := range m {
		if len(m) < most {
			return
		}
		delete(m, k)
	}
}
