package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func addLogin(t *testing.T, s *store.Store, key, code, address string) bool {
	t.Helper()
	stored, err := s.AddLogin(t.Context(), model.LoginRequest{KeyHash: storetest.TokenHash(key), Code: code, Address: address, Agent: "semgrep"})
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// approving returns a step of an update that approves the request with a code.
func approving(code string, token model.Token) func(context.Context, *store.Tx) error {
	return func(ctx context.Context, tx *store.Tx) error {
		l, err := tx.WaitingLogin(ctx, code)
		if err != nil {
			return err
		}
		return tx.ApproveLogin(ctx, l, token)
	}
}

func loginByCode(t *testing.T, s *store.Store, d model.Deployment, code string) (l model.LoginRequest, err error) {
	t.Helper()
	err = s.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		l, err = tx.WaitingLogin(ctx, code)
		return err
	})
	return l, err
}

func TestLoginRequestIsApprovedAndUsedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		for range 2 {
			same(t, "kept", addLogin(t, s, "key", "ABCD-2345", "192.0.2.7"), true)
		}
		waiting, err := loginByCode(t, s, d, "ABCD-2345")
		if err != nil || waiting.Approved() || waiting.Address != "192.0.2.7" || !waiting.ExpiresAt.Equal(waiting.RequestedAt.Add(model.LoginFor)) {
			t.Errorf("it waits as %+v, %v", waiting, err)
		}
		same(t, "another one under the same code", addLogin(t, s, "another key", "ABCD-2345", "192.0.2.8"), true)
		_, err = s.LoginByKey(t.Context(), storetest.TokenHash("another key"))
		fails(t, "the first of a code counts", err, model.ErrNotFound)

		token := model.Token{Name: "laptop", Scopes: []model.Scope{model.ScopeCI}, ProjectGlobs: []string{"acme/**"}}
		consume := func(ctx context.Context, tx *store.Tx) error {
			l, err := tx.ConsumeLogin(ctx, storetest.TokenHash("key"))
			if err == nil {
				same(t, "the token to make", []any{l.Token.Name, l.Token.Scopes, l.Token.ProjectGlobs, l.ApprovedBy}, []any{token.Name, token.Scopes, token.ProjectGlobs, storetest.Actor})
			}
			return err
		}
		fails(t, "before the approval", s.Update(t.Context(), d.ID, storetest.Actor, consume), model.ErrNotFound)
		approve := approving("ABCD-2345", token)
		update(t, s, d, approve)
		fails(t, "approving twice", s.Update(t.Context(), d.ID, storetest.Actor, approve), model.ErrNotFound)
		noise := deployment(t, s, storetest.Noise)
		for name, decide := range map[string]func(context.Context, *store.Tx) error{
			"approves": func(ctx context.Context, tx *store.Tx) error { return tx.ApproveLogin(ctx, waiting, token) },
			"denies":   func(ctx context.Context, tx *store.Tx) error { return tx.DenyLogin(ctx, waiting) },
		} {
			fails(t, "who saw it waiting "+name, s.Update(t.Context(), d.ID, storetest.Actor, decide), model.ErrNotFound)
			fails(t, "who saw it waiting elsewhere "+name, s.Update(t.Context(), noise.ID, storetest.Actor, decide), model.ErrNotFound)
		}
		fails(t, "another tenant's approval", s.Update(t.Context(), noise.ID, storetest.Actor, approve), model.ErrNotFound)
		fails(t, "another tenant takes it", s.Update(t.Context(), noise.ID, storetest.Actor, consume), model.ErrNotFound)
		_, err = loginByCode(t, s, d, "ABCD-2345")
		fails(t, "it waits no more", err, model.ErrNotFound)
		update(t, s, d, consume)
		fails(t, "taking twice", s.Update(t.Context(), d.ID, storetest.Actor, consume), model.ErrNotFound)

		trail := events(t, s, d)
		last := trail[len(trail)-1]
		if last.Action != "login.approve" || !strings.Contains(last.After, `"code":"ABCD-2345"`) || !strings.Contains(last.After, "192.0.2.7") {
			t.Errorf("the trail ends with %+v", last)
		}
	})
}

// TestLoginsAreBounded checks the limits in number and age, because requests need no
// authentication.
func TestLoginsAreBounded(t *testing.T) {
	clock := storetest.NewClock()
	for _, engine := range storetest.Engines {
		s := storetest.Open(t, storetest.Database(t, engine, clock))
		d := storetest.Deployment(t, s)
		for i := range 21 {
			same(t, fmt.Sprint("request ", i+1, " of one address"), addLogin(t, s, fmt.Sprint("key", i), fmt.Sprint("CODE-", i), "192.0.2.7"), i < 20)
		}
		same(t, "another address", addLogin(t, s, "other", "OTHE-RRRR", "192.0.2.8"), true)
		for i := range 21 {
			same(t, fmt.Sprint("request ", i+1, " of one network"), addLogin(t, s, fmt.Sprint("six", i), fmt.Sprint("SIX-", i), fmt.Sprintf("2001:db8:0:1::%x", i+1)), i < 20)
		}
		same(t, "another network", addLogin(t, s, "six", "SIXX-XXXX", "2001:db8:0:2::1"), true)
		waiting, err := s.Logins(t.Context())
		if err != nil || len(waiting) < 21 || waiting[len(waiting)-1].Approved() {
			t.Errorf("%d wait, %v", len(waiting), err)
		}
		late, err := loginByCode(t, s, d, "CODE-2")
		if err != nil {
			t.Fatal(err)
		}
		update(t, s, d, approving("CODE-1", model.Token{Name: "x"}))
		clock.Advance(model.LoginFor + time.Second)
		for _, key := range []string{"key1", "key2"} {
			_, err := s.LoginByKey(t.Context(), storetest.TokenHash(key))
			fails(t, "expired, approved or not", err, model.ErrNotFound)
		}
		fails(t, "approving what expired", s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			return tx.ApproveLogin(ctx, late, model.Token{Name: "x"})
		}), model.ErrNotFound)
		same(t, "room again", addLogin(t, s, "later", "LATE-RRRR", "192.0.2.7"), true)
		waiting, err = s.Logins(t.Context())
		if err != nil || len(waiting) != 1 || waiting[0].Code != "LATE-RRRR" {
			t.Errorf("waiting: %+v, %v", waiting, err)
		}
	}
}

// TestNetworksOfOneOwnerBlockNoOther fills the limit from fifty networks of one owner. Requests of
// other networks must replace the owner's oldest ones and must not be replaced by later ones of the
// owner.
func TestNetworksOfOneOwnerBlockNoOther(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		existing, err := s.Logins(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		attackers := make([]string, 1000-len(existing))
		for i := range attackers {
			attackers[i] = fmt.Sprintf("2001:db8:7:%x::%x", i%50, i+1)
		}
		if err := s.FillLogins(t.Context(), attackers); err != nil {
			t.Fatal(err)
		}
		same(t, "one more from there", addLogin(t, s, "more", "MORE-MORE", "2001:db8:7:ff::1"), false)
		for i, stranger := range []string{"192.0.2.7", "192.0.2.8", "2001:db8:8::1"} {
			same(t, stranger, addLogin(t, s, stranger, fmt.Sprint("OTHER-", i), stranger), true)
		}
		for i := range 10 {
			addLogin(t, s, fmt.Sprint("again", i), fmt.Sprint("AGAIN-", i), fmt.Sprintf("2001:db8:7:%x::%x", 100+i, i+1))
		}
		for _, stranger := range []string{"192.0.2.7", "192.0.2.8", "2001:db8:8::1"} {
			if _, err := s.LoginByKey(t.Context(), storetest.TokenHash(stranger)); err != nil {
				t.Errorf("the request of %s: %v", stranger, err)
			}
		}
		waiting, err := s.Logins(t.Context())
		if err != nil || len(waiting) != 1000 {
			t.Errorf("%d wait, %v", len(waiting), err)
		}
	})
}

// TestManyNetworksBlockNoOther fills the limit with one request from each of a thousand networks.
// Another network must still be accepted, and a scanner whose request was replaced must get the
// same code with its next poll.
func TestManyNetworksBlockNoOther(t *testing.T) {
	for _, engine := range storetest.Engines {
		clock := storetest.NewClock()
		s := storetest.Open(t, storetest.Database(t, engine, clock))
		const first = "198.51.100.7"
		addLogin(t, s, first, "FIRST-ONE", first)
		clock.Advance(time.Second)
		existing, err := s.Logins(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		attackers := make([]string, 1000-len(existing))
		for i := range attackers {
			attackers[i] = fmt.Sprintf("10.%d.%d.1", i/256, i%256)
		}
		if err := s.FillLogins(t.Context(), attackers); err != nil {
			t.Fatal(err)
		}
		same(t, "one more from one of them", addLogin(t, s, "more", "MORE-MORE", "10.0.0.2"), false)
		for i := range existing { // includes the first one and those of the noisy tenant
			stranger := fmt.Sprintf("2001:db8:%x::1", i+1)
			same(t, stranger, addLogin(t, s, stranger, fmt.Sprint("OTHER-", i), stranger), true)
		}
		_, err = s.LoginByKey(t.Context(), storetest.TokenHash(first))
		fails(t, "the oldest made room", err, model.ErrNotFound)
		same(t, "the oldest, when it asks again", addLogin(t, s, first, "FIRST-ONE", first), true)
		waiting, err := s.Logins(t.Context())
		if err != nil || len(waiting) != 1000 {
			t.Errorf("%d wait, %v", len(waiting), err)
		}
	}
}

// TestLoginLimitSparesSignedInNetworks fills the limit from a thousand networks. A request from a
// network with a signed-in user must stay.
func TestLoginLimitSparesSignedInNetworks(t *testing.T) {
	for _, engine := range storetest.Engines {
		clock := storetest.NewClock()
		s := storetest.Open(t, storetest.Database(t, engine, clock))
		const first, near = "192.0.2.1", "10.0.200.2" // signIn uses the address first
		ada := addUser(t, s, storetest.Deployment(t, s), "ada", model.RoleAdmin)
		signIn(t, s, ada, "cookie")
		addLogin(t, s, first, "FIRST-ONE", first)
		clock.Advance(time.Second)
		existing, err := s.Logins(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		attackers := make([]string, 1000-len(existing))
		for i := range attackers {
			attackers[i] = fmt.Sprintf("10.%d.%d.1", i/256, i%256)
		}
		if err := s.FillLogins(t.Context(), attackers); err != nil {
			t.Fatal(err)
		}
		stays := func(when string) {
			t.Helper()
			if _, err := s.LoginByKey(t.Context(), storetest.TokenHash(first)); err != nil {
				t.Errorf("%s, %s: %v", engine, when, err)
			}
		}
		for i := range 20 {
			addLogin(t, s, fmt.Sprint("more", i), fmt.Sprint("MORE-", i), fmt.Sprintf("172.16.%d.1", i))
		}
		stays("after twenty more networks")
		same(t, "another one from there", addLogin(t, s, "second", "SECO-OND1", first), true)
		same(t, "one beside an attacker", addLogin(t, s, "near", "NEAR-NEAR", near), false)
		if _, err := s.SignIn(t.Context(), model.Session{UserID: ada.ID, Method: "password", Address: near, ExpiresAt: clock.Now().Add(time.Hour)},
			storetest.TokenHash("another"), model.CheckedPassword{}); err != nil {
			t.Fatal(err)
		}
		same(t, "one beside an attacker, of a person", addLogin(t, s, "near", "NEAR-NEAR", near), true)
		clock.Advance(2 * time.Minute)
		same(t, "a stranger", addLogin(t, s, "stranger", "STRA-NGER", "2001:db8::1"), true)
		stays("after a stranger")
		waiting, err := s.Logins(t.Context())
		if err != nil || len(waiting) != 1000 {
			t.Errorf("%d wait, %v", len(waiting), err)
		}
	}
}

// TestApprovedLoginsCountTowardTokenLimit checks that approved requests count toward the limit of tokens, and are
// deleted when the user's tokens are revoked.
func TestApprovedLoginsCountTowardTokenLimit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		ada, ben := addUser(t, s, d, "ada", model.RoleAdmin), addUser(t, s, d, "ben", model.RoleAdmin)
		approve := func(code string, of model.User) error {
			return s.Update(t.Context(), d.ID, storetest.Actor, approving(code, model.Token{Name: code, UserID: of.ID}))
		}
		codes := []string{"AAAA-2222", "BBBB-2222", "CCCC-2222", "DDDD-2222", "EEEE-2222"}
		for _, code := range codes {
			addLogin(t, s, code, code, "192.0.2.7")
		}
		update(t, s, d, func(ctx context.Context, tx *store.Tx) (err error) {
			for i := range 98 {
				name := fmt.Sprint("full", i)
				if _, err := tx.CreateToken(ctx, model.Token{PublicID: name, Name: name, UserID: ada.ID}, storetest.TokenHash(name)); err != nil {
					return err
				}
			}
			_, err = tx.CreateToken(ctx, model.Token{PublicID: "over", Name: "over", UserID: ada.ID, ExpiresAt: storetest.Epoch.Add(-time.Hour)}, storetest.TokenHash("over"))
			return err
		})
		for i, want := range []error{nil, nil, model.ErrConflict} {
			if err := approve(codes[i], ada); err != nil || want != nil {
				fails(t, codes[i], err, want)
			}
		}
		if err := approve(codes[3], ben); err != nil {
			t.Errorf("another user: %v", err)
		}
		if err := approve(codes[4], model.User{}); err != nil {
			t.Errorf("without an owner, by the server operator: %v", err)
		}
		if err := s.SetPassword(t.Context(), ada.ID, "hash", false, ada.Actor()); err != nil {
			t.Fatal(err)
		}
		waits := func(code string) bool {
			_, err := s.LoginByKey(t.Context(), storetest.TokenHash(code))
			return err == nil
		}
		same(t, "after a new password alone", waits(codes[0]), true)
		if err := s.SetPassword(t.Context(), ada.ID, "hash", true, ada.Actor()); err != nil {
			t.Fatal(err)
		}
		same(t, "after her tokens were revoked", []bool{waits(codes[0]), waits(codes[1]), waits(codes[2]), waits(codes[3]), waits(codes[4])}, []bool{false, false, true, true, true})
	})
}

// TestLoginRequestIsDecidedOnce checks approvals and denials for a program and a scanner.
func TestLoginRequestIsDecidedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d, noise := storetest.Deployment(t, s), deployment(t, s, storetest.Noise)
		program := model.LoginProgram{ClientHash: []byte("client"), Name: "A program", Resource: "https://here/mcp", Write: true}
		for _, code := range []string{"PROG-AAAA", "PROG-BBBB"} {
			if _, err := s.AddLogin(t.Context(), model.LoginRequest{KeyHash: storetest.TokenHash(code), Code: code, Address: "192.0.2.7", Program: program}); err != nil {
				t.Fatal(err)
			}
		}
		addLogin(t, s, "SCAN-AAAA", "SCAN-AAAA", "192.0.2.7")
		token := model.Token{Name: "OAuth: A program"}
		deny := func(code string) func(context.Context, *store.Tx) error {
			return func(ctx context.Context, tx *store.Tx) error {
				l, err := tx.WaitingLogin(ctx, code)
				if err != nil {
					return err
				}
				return tx.DenyLogin(ctx, l)
			}
		}
		update(t, s, d, approving("PROG-AAAA", token))
		update(t, s, d, deny("SCAN-AAAA"))
		update(t, s, d, deny("PROG-BBBB"))
		for _, code := range []string{"PROG-AAAA", "PROG-BBBB", "SCAN-AAAA"} {
			for _, by := range []model.Deployment{d, noise} {
				fails(t, code+" again", s.Update(t.Context(), by.ID, storetest.Actor, approving(code, token)), model.ErrNotFound)
				fails(t, code+" denied after it", s.Update(t.Context(), by.ID, storetest.Actor, deny(code)), model.ErrNotFound)
			}
		}
		for code, want := range map[string][]any{ // approved, denied, token name, by a program
			"PROG-AAAA": {true, false, token.Name, true}, "PROG-BBBB": {false, true, "", true}, "SCAN-AAAA": {false, true, "", false},
		} {
			l, err := s.LoginByKey(t.Context(), storetest.TokenHash(code))
			if err != nil {
				t.Fatal(err)
			}
			same(t, code, []any{l.Approved(), l.Denied(), l.Token.Name, l.ByProgram()}, want)
			same(t, code+" is decided about by", []any{l.DeploymentID, l.ApprovedBy}, []any{d.ID, storetest.Actor})
			if l.ByProgram() {
				same(t, code+" asks for", l.Program, program)
			}
		}
		trail := events(t, s, d)
		last := trail[len(trail)-1]
		if last.Action != "login.deny" || !strings.Contains(last.After, `"program":"A program"`) {
			t.Errorf("the trail ends with %+v", last)
		}
	})
}
