package model

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestOlderUserLinksAreParsed checks that links stored as a user name alone are read.
func TestOlderUserLinksAreParsed(t *testing.T) {
	var people HostPeople
	if err := json.Unmarshal([]byte(`{"a":"ada","b":{"user":"bob","id":"7"}}`), &people); err != nil {
		t.Fatal(err)
	}
	if people["a"] != (HostPerson{User: "ada"}) || people["b"] != (HostPerson{User: "bob", ID: "7"}) {
		t.Errorf("read %v", people)
	}
	if err := json.Unmarshal([]byte(`{"a":7}`), &people); err == nil {
		t.Error("a number is a person")
	}
}

func TestHostPeople(t *testing.T) {
	people, err := ParseHostPeople([]string{"@OctoCat = Ada", "", "grüße=bob@x"})
	if err != nil || len(people) != 2 {
		t.Fatalf("people are %v, %v", people, err)
	}
	for login, want := range map[string]string{"octocat": "ada", "OCTOCAT": "ada", "grüße": "bob@x", "ada": "", "": ""} {
		if user, ok := people.UserOf(login); user != want || ok != (want != "") {
			t.Errorf("%q is %q, %v", login, user, ok)
		}
	}
	people.Remove(" @OCTOcat ")
	if _, ok := people.UserOf("octocat"); ok {
		t.Error("who was removed is there")
	}
	for _, bad := range []string{"octocat", "=ada", "a b = ada", "a\x1b = ada", strings.Repeat("a", 256) + "=ada", "\xff=ada", "octocat=", "octocat=a b", "@ = ada"} {
		if people, err := ParseHostPeople([]string{bad}); err == nil {
			t.Errorf("%q is %v", bad, people)
		}
	}
	if _, err := ParseHostPeople([]string{"a=ada", "A=bob"}); err == nil {
		t.Error("one name is two users")
	}
	many := make([]string, MaxHostPeople+1)
	for i := range many {
		many[i] = fmt.Sprintf("u%d=ada", i)
	}
	if _, err := ParseHostPeople(many); err == nil {
		t.Error("there is no bound")
	}
	if _, err := ParseHostPeople(many[1:]); err != nil {
		t.Error(err)
	}
}

func TestReplyPolicyWidens(t *testing.T) {
	for _, c := range []struct {
		before, after ReplyPolicy
		want          bool
	}{
		{RepliesOff, RepliesLinked, true},
		{RepliesOff, RepliesCollaborators, true},
		{RepliesLinked, RepliesCollaborators, true},
		{RepliesCollaborators, RepliesLinked, false},
		{RepliesCollaborators, RepliesOff, false},
		{RepliesLinked, RepliesOff, false},
		{RepliesOff, RepliesOff, false},
		{RepliesLinked, RepliesLinked, false},
		{RepliesCollaborators, RepliesCollaborators, false},
	} {
		if got := c.after.Widens(c.before); got != c.want {
			t.Errorf("from %s to %s widens: %v", c.before, c.after, got)
		}
	}
}
