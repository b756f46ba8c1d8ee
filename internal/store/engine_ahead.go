package store

import (
	"context"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt"
)

// aheadKey marks the context of reads that are announced. Its value tells whether they
// are shown what announced reads before them found.
type aheadKey struct{}

// errAhead is what a write answers that is called where reads are announced: it
// would not be one of them.
var errAhead = errors.New("reads are announced, nothing is written")

func readsAhead(ctx context.Context) bool { return ctx.Value(aheadKey{}) != nil }

func aheadInTurns(ctx context.Context) bool { return ctx.Value(aheadKey{}) == true }

// Ahead announces reads: fn calls the methods that will be called next, in any
// order, and a database that is far away is asked all their first questions in the
// round trip of the next statement. What they return in fn means nothing, and of one
// that writes only the reads before it are asked. It
// changes no answer: one that a write of the transaction may have changed since is
// asked for again. On SQLite it does nothing.
func (tx *Tx) Ahead(ctx context.Context, fn func(context.Context)) {
	if tx.session.engine.ahead {
		fn(context.WithValue(ctx, aheadKey{}, false))
	}
}

// AheadInTurns is Ahead for reads some of which hang on what others return: fn is called
// so many times, each in a round trip of its own, and finds what it asked for in the turns
// before. It is for a list of things of which each takes several reads. fn must ask the
// same each time it knows the same: arguments come in the same order. What its calls
// return means nothing: some of it is not known yet.
func (tx *Tx) AheadInTurns(ctx context.Context, turns int, fn func(context.Context)) error {
	if !tx.session.engine.ahead {
		return nil
	}
	for range turns {
		fn(context.WithValue(ctx, aheadKey{}, true))
		if err := tx.session.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// announceKey is that of Announce.
type announceKey struct{}

// Announce says of the View or Update of a context what it will read first, as
// Tx.Ahead does: a database that is far away answers it with the deployment's row,
// and behind the lock on it, in one round trip.
func Announce(ctx context.Context, reads func(context.Context, *Tx)) context.Context {
	return context.WithValue(ctx, announceKey{}, reads)
}

// announcedTenant reads a deployment, and asks what was announced behind it.
func (q *session) announcedTenant(ctx context.Context, id int64, lock string) (tenant, error) {
	if reads, ok := ctx.Value(announceKey{}).(func(context.Context, *Tx)); ok && q.engine.ahead {
		ahead := context.WithValue(ctx, aheadKey{}, false)
		_, _ = q.tenant(ahead, id, lock) // an error is told below
		reads(ahead, newTx(q, redoubt.Deployment{ID: id}, time.Time{}, redoubt.Actor{}))
	}
	return q.tenant(ctx, id, lock)
}

// announced is the context once what it announces was: a transaction within it has
// other reads.
func announced(ctx context.Context) context.Context {
	if ctx.Value(announceKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, announceKey{}, nil)
}

// ExpectScan reserves, where reads are announced, what each scan that is stored
// takes of ids.
func (tx *Tx) ExpectScan(ctx context.Context) {
	tx.session.reserve(ctx, seqScan, 1)
	tx.session.reserve(ctx, seqAuditEvent, eventsOfScan)
}

// eventsOfScan is how many events of the audit trail a scan makes, mostly.
const eventsOfScan = 4

// maxKept is how many rows of an announced read are kept for who asks again.
const maxKept = 100

// answered finds the announced read of a query. A small one stays, for who asks the
// same once more; ids that were reserved are given out once.
func (p *pipeline) answered(query string, args []any) *statement {
	s := p.find(query, args)
	if s != nil && (len(s.rows) > maxKept || strings.Contains(query, "nextval(")) {
		p.known = slices.DeleteFunc(p.known, func(k *statement) bool { return k == s })
	}
	return s
}

func (p *pipeline) find(query string, args []any) *statement {
	for _, list := range [][]*statement{p.known, p.queue} {
		for _, s := range list {
			if s.ahead && s.query == query && reflect.DeepEqual(s.args, args) {
				return s
			}
		}
	}
	return nil
}

// written finds the table that a statement writes to.
var written = regexp.MustCompile(`(?i)^\s*(?:INSERT INTO|UPDATE|DELETE FROM)\s+([a-z_]+)\b`)

// forget takes back announced reads that a statement may change the answers of: those
// whose text names its table, and all where it does not say what it writes.
func (p *pipeline) forget(query string) {
	waits := func(s *statement) bool { return s.ahead }
	if len(p.known) == 0 && !slices.ContainsFunc(p.queue, waits) || strings.HasPrefix(strings.TrimSpace(query), "SELECT ") {
		return
	}
	changed := func(*statement) bool { return true }
	if match := written.FindStringSubmatch(query); match != nil {
		names := regexp.MustCompile(`\b` + match[1] + `\b`)
		changed = func(s *statement) bool { return names.MatchString(s.query) }
	}
	p.drop(changed)
}

// dropAhead takes back what nobody asked for.
func (p *pipeline) dropAhead() { p.drop(func(*statement) bool { return true }) }

func (p *pipeline) drop(which func(*statement) bool) {
	gone := func(s *statement) bool { return s.ahead && which(s) }
	p.known, p.queue = slices.DeleteFunc(p.known, gone), slices.DeleteFunc(p.queue, gone)
}
