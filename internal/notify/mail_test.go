package notify_test

import (
	"context"
	"errors"
	"io"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/notify"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// postbox is a mail server.
type postbox struct {
	mu      sync.Mutex
	letters []letter
	refuses error
	hangsUp bool // after it received a letter
}

type letter struct {
	to, subject, body, id, program string
}

// visit is a session of a client.
type visit struct {
	*postbox
	conn *smtp.Conn
	to   string
}

func (v *visit) Logout() error                        { return nil }
func (v *visit) Mail(string, *smtp.MailOptions) error { return nil }

func (p *postbox) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &visit{postbox: p, conn: c}, nil
}

// Reset is called after the response to a letter.
func (v *visit) Reset() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.hangsUp && len(v.letters) > 0 {
		_ = v.conn.Conn().Close()
	}
}

func (p *postbox) refuse(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = err
}

func (v *visit) Rcpt(to string, _ *smtp.RcptOptions) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.to = to
	return v.refuses
}

func (v *visit) Data(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(m.Body)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.letters = append(v.letters, letter{v.to, m.Header.Get("Subject"), string(body), m.Header.Get("Message-Id"), m.Header.Get("User-Agent") + m.Header.Get("X-Mailer")})
	return err
}

func (p *postbox) drain() []letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.letters
	p.letters = nil
	return out
}

// post starts a mail server and configures the world to use it.
func (w *world) post() *postbox {
	w.Helper()
	p := &postbox{}
	s := smtp.NewServer(p)
	l, err := new(net.ListenConfig).Listen(w.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); err != nil && !errors.Is(err, smtp.ErrServerClosed) {
			w.Error(err)
		}
	}()
	w.Cleanup(func() {
		if err := s.Close(); err != nil {
			w.Error(err)
		}
		_ = l.Close() // a server that has not started to serve does not close its listener
		<-done
	})
	at, _ := l.Addr().(*net.TCPAddr)
	w.mail = notify.Mail{Host: "127.0.0.1", Port: at.Port, From: "Redoubt <redoubt@example.com>", TLS: "none"}
	w.start()
	return p
}

func byMail(digest model.NotificationDigest, to ...string) func(r *model.NotificationRule) {
	return func(r *model.NotificationRule) {
		r.Channel, r.Digest, r.To, r.Name = model.ChannelEmail, digest, to, "mail "+digest.String()
	}
}

func TestMailIsSentToEachAddress(t *testing.T) {
	each(t, func(w *world) {
		p := w.post()
		r, _ := w.addRule(byMail(model.DigestNone, "alice@example.com", "bob@example.com"))
		w.found(added{n: 1, severity: model.SeverityHigh, rule: "see https://evil.example\r\nBcc: eve@example.com"})
		w.runDueJobs()
		letters := p.drain()
		if len(letters) != 2 || letters[0].to == letters[1].to || letters[0].id == letters[1].id {
			t.Fatalf("%+v", letters)
		}
		if l := letters[0]; !strings.Contains(l.subject, "1 new finding (1 high)") || !strings.Contains(l.body, "redoubt.example/orgs/acme/findings/") || strings.Contains(l.body, "https://evil") {
			t.Errorf("the mail is %+v", l)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(letters[0].body)))
		if err != nil || !strings.Contains(string(body), "src/a.go:1") || letters[0].program != "" {
			t.Errorf("the mail of %q, %v, names no place that can be copied:\n%s", letters[0].program, err, body)
		}
		for _, n := range w.log(r.ID) {
			if n.State != model.NotificationDelivered {
				t.Errorf("the log has %+v", n)
			}
		}
	})
}

func TestOneDigestMailPerUserAndDay(t *testing.T) {
	each(t, func(w *world) {
		p := w.post()
		w.addRule(byMail(model.DigestDay, "alice@example.com"))
		w.addRule(func(r *model.NotificationRule) {
			byMail(model.DigestDay, "alice@example.com")(r)
			r.Name, r.MinSeverity = "another", model.SeverityCritical
		})
		w.found(added{n: 1, severity: model.SeverityHigh})
		w.found(added{n: 2, severity: model.SeverityCritical})
		if w.runDueJobs(); len(p.drain()) != 0 {
			t.Fatal("a digest comes at once")
		}
		w.clock.Advance(25 * time.Hour)
		w.runDueJobs()
		letters := p.drain()
		if len(letters) != 1 || !strings.Contains(letters[0].subject, "3 notifications") || strings.Count(letters[0].body, "new finding") != 3 {
			t.Errorf("%+v", letters)
		}
		w.clock.Advance(25 * time.Hour)
		if w.runDueJobs(); len(p.drain()) != 0 {
			t.Error("a digest of nothing comes")
		}
	})
}

// TestMailLimitsListedFindings checks that a mail lists a limited number of findings and links to the
// others.
func TestMailLimitsListedFindings(t *testing.T) {
	w := newWorld(t, "sqlite")
	p := w.post()
	w.addRule(byMail(model.DigestDay, "alice@example.com"))
	for range 15 {
		w.found(added{n: 12, severity: model.SeverityHigh})
	}
	w.runDueJobs()
	w.clock.Advance(25 * time.Hour)
	w.runDueJobs()
	letters := p.drain()
	if len(letters) != 1 {
		t.Fatalf("%d letters", len(letters))
	}
	body := strings.ReplaceAll(letters[0].body, "=\r\n", "")
	if named := strings.Count(body, "- high sqli"); named != 100 {
		t.Errorf("it names %d findings", named)
	}
	if n, more, linked := strings.Count(body, "12 new findings"), strings.Count(body, "And 2 more: https://redoubt.example/"), strings.Count(body, "https://redoubt.example/orgs/acme/findings"); n != 15 || more != 10 || linked < 115 {
		t.Errorf("of 15 messages it has %d, %d say how many more, %d links: %s", n, more, linked, body)
	}
}

// TestFailedDigestIsRetried checks that the age of a digest starts on its day.
func TestFailedDigestIsRetried(t *testing.T) {
	for _, digest := range []model.NotificationDigest{model.DigestDay, model.DigestWeek} {
		t.Run(digest.String(), func(t *testing.T) {
			w := newWorld(t, "sqlite")
			p := w.post()
			p.refuse(&smtp.SMTPError{Code: 451, Message: "later"})
			r, _ := w.addRule(byMail(digest, "alice@example.com"))
			w.found(added{n: 1, severity: model.SeverityHigh})
			w.runDueJobs()
			w.clock.Advance(digest.Next(w.clock.Now()).Sub(w.clock.Now()))
			w.runDueJobs()
			if n := w.log(r.ID)[0]; n.State != model.NotificationQueued || n.Attempts != 1 {
				t.Fatalf("after the first attempt the log has %+v", n)
			}
			p.refuse(nil)
			w.clock.Advance(time.Minute)
			if w.runDueJobs(); len(p.drain()) != 1 {
				t.Errorf("nothing is sent; the log has %+v", w.log(r.ID))
			}
		})
	}
}

// TestAcceptedMailIsNotResent checks that errors after the server accepted a mail are
// ignored.
func TestAcceptedMailIsNotResent(t *testing.T) {
	w := newWorld(t, "sqlite")
	p := w.post()
	p.hangsUp = true
	r, _ := w.addRule(byMail(model.DigestNone, "alice@example.com"))
	w.found(added{n: 1, severity: model.SeverityHigh})
	w.runDueJobs()
	w.clock.Advance(time.Minute)
	w.runDueJobs()
	if n := w.log(r.ID)[0]; len(p.drain()) != 1 || n.State != model.NotificationDelivered || n.Problem != "" {
		t.Errorf("the log has %+v", n)
	}
}

func TestRefusedMailFails(t *testing.T) {
	w := newWorld(t, "sqlite")
	p := w.post()
	p.refuses = &smtp.SMTPError{Code: 550, Message: "no such user"}
	r, _ := w.addRule(byMail(model.DigestNone, "unknown@example.com"))
	w.found(added{n: 1, severity: model.SeverityHigh})
	w.runDueJobs()
	for range 60 {
		w.clock.Advance(time.Minute)
		w.runDueJobs()
	}
	if n := w.log(r.ID)[0]; n.State != model.NotificationFailed || n.Attempts != 4 || !strings.Contains(n.Problem, "no such user") {
		t.Errorf("the log has %+v", n)
	}
}

func TestDigestDueTimes(t *testing.T) {
	wednesday := time.Date(2026, 1, 7, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		digest model.NotificationDigest
		at     time.Time
		want   string
	}{
		{model.DigestNone, wednesday, "2026-01-07T12:00:00Z"},
		{model.DigestDay, wednesday, "2026-01-08T07:00:00Z"},
		{model.DigestDay, wednesday.Add(-6 * time.Hour), "2026-01-07T07:00:00Z"},
		{model.DigestWeek, wednesday, "2026-01-12T07:00:00Z"},
		{model.DigestWeek, wednesday.AddDate(0, 0, -2).Add(-6 * time.Hour), "2026-01-05T07:00:00Z"},
		{model.DigestWeek, wednesday.AddDate(0, 0, -2).Add(-5 * time.Hour), "2026-01-12T07:00:00Z"},
	} {
		if got := c.digest.Next(c.at).Format(time.RFC3339); got != c.want {
			t.Errorf("%s at %s: %s, want %s", c.digest, c.at, got, c.want)
		}
	}
}

// TestMissingScansAreReportedOnce checks that missing scans of matching projects are reported once,
// when the period has passed.
func TestMissingScansAreReportedOnce(t *testing.T) {
	each(t, func(w *world) {
		missing := func(name, filter string) func(r *model.NotificationRule) {
			return func(r *model.NotificationRule) {
				r.Name, r.Filter, r.Events, r.MissingDays = name, filter, model.NotificationEvents(0).With(model.EventScanMissing), 3
			}
		}
		w.addRule(missing("all", ""))
		w.addRule(missing("others", "repos=acme/other"))
		for day, want := range []int{0, 0, 0, 1, 0, 0} {
			if err := w.n.Sweep(t.Context(), w.d.ID); err != nil {
				t.Fatal(err)
			}
			w.runDueJobs()
			events := w.receiver.events(w.T)
			if len(events) != want {
				t.Errorf("day %d: %+v", day, events)
			}
			for _, e := range events {
				if e.Data.Title != "1 project without a scan for 3 days" || len(e.Data.Projects) != 1 || e.Data.Projects[0].Name != "acme/api" {
					t.Errorf("it tells %+v", e.Data)
				}
			}
			w.clock.Advance(25 * time.Hour)
		}
	})
}

// TestMissingScansMatchOldNames checks that filters match projects by their former names.
func TestMissingScansMatchOldNames(t *testing.T) {
	each(t, func(w *world) {
		expected := map[int64]string{} // expected project, by rule
		for filter, want := range map[string]string{"repos=acme/api": "acme/now", "-repos=acme/api": "acme/taken", "repos=acme/taken": "acme/taken", "-repos=acme/taken": "acme/now"} {
			r, _ := w.addRule(func(r *model.NotificationRule) {
				r.Name, r.Filter, r.Events, r.MissingDays = filter, filter, model.NotificationEvents(0).With(model.EventScanMissing), 3
			})
			expected[r.ID] = want
		}
		w.update(func(ctx context.Context, tx *store.Tx) error {
			p, err := tx.ProjectByName(ctx, "acme/api")
			for _, name := range []string{"acme/taken", "acme/now"} {
				if err == nil {
					_, err = tx.RenameProject(ctx, p.ID, name)
				}
			}
			if err == nil {
				_, err = tx.CreateProject(ctx, model.Project{Name: "acme/taken"})
			}
			return err
		})
		w.clock.Advance(4 * 24 * time.Hour)
		if err := w.n.Sweep(t.Context(), w.d.ID); err != nil {
			t.Fatal(err)
		}
		w.runDueJobs()
		for id, want := range expected {
			if got := w.log(id); len(got) != 1 || len(got[0].Message.Projects) != 1 || got[0].Message.Projects[0].Name != want {
				t.Errorf("rule %d tells %+v, want %s", id, got, want)
			}
		}
	})
}

// TestMissingScansAreReportedOnceBySeveralServers checks concurrent sweeps.
func TestMissingScansAreReportedOnceBySeveralServers(t *testing.T) {
	each(t, func(w *world) {
		w.addRule(func(r *model.NotificationRule) {
			r.Events, r.MissingDays = model.NotificationEvents(0).With(model.EventScanMissing), 3
		})
		w.clock.Advance(4 * 24 * time.Hour)
		var servers sync.WaitGroup
		for range 8 {
			servers.Go(func() {
				if err := w.n.Sweep(t.Context(), w.d.ID); err != nil {
					w.Error(err)
				}
			})
		}
		servers.Wait()
		if w.runDueJobs(); len(w.receiver.drain()) != 1 {
			t.Error("it is not told once")
		}
	})
}

// TestMessagesWithoutAJobAreSent checks that a lost job loses no message.
func TestMessagesWithoutAJobAreSent(t *testing.T) {
	each(t, func(w *world) {
		w.addRule(nil)
		w.found(added{n: 1, severity: model.SeverityHigh})
		for _, kind := range []string{store.NotifyJob, store.DeliverJob} {
			j, err := storetest.Claim(t.Context(), w.s, time.Minute, kind)
			if err != nil || j == nil {
				t.Fatal(j, err)
			}
			if kind == store.NotifyJob {
				_, _, err = queue.Do(w.n.Match)(t.Context(), *j)
			}
			if err = errors.Join(err, w.s.FinishJob(t.Context(), *j, nil, "")); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.n.Sweep(context.Background(), w.d.ID); err != nil {
			t.Fatal(err)
		}
		if w.runDueJobs(); len(w.receiver.drain()) != 1 {
			t.Error("nothing is sent")
		}
	})
}

// TestDigestRetriesOnlyNewerMessages checks that messages a day old fail, and newer ones in the
// same mail are retried.
func TestDigestRetriesOnlyNewerMessages(t *testing.T) {
	each(t, func(w *world) {
		p := w.post()
		p.refuse(&smtp.SMTPError{Code: 451, Message: "later"})
		r, _ := w.addRule(byMail(model.DigestDay, "alice@example.com"))
		w.found(added{n: 1, severity: model.SeverityHigh})
		w.runDueJobs()
		w.clock.Advance(model.DigestDay.Next(w.clock.Now()).Sub(w.clock.Now()))
		w.runDueJobs()
		w.clock.Advance(time.Hour)
		w.found(added{n: 2, severity: model.SeverityHigh})
		w.clock.Advance(23 * time.Hour)
		w.runDueJobs()
		p.refuse(nil)
		w.clock.Advance(time.Minute)
		w.runDueJobs()
		states := map[model.NotificationState]int{}
		for _, n := range w.log(r.ID) {
			states[n.State]++
		}
		if letters := p.drain(); len(letters) != 1 || !strings.Contains(letters[0].body, "2 new findings") || states[model.NotificationFailed] != 1 || states[model.NotificationDelivered] != 1 {
			w.Errorf("%+v, and the log has %v", letters, states)
		}
	})
}
