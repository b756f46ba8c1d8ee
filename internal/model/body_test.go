package model

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestBodyMessageRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "message")
		body := Body{RuleMessage: &want, MatchBasedID: rapid.String().Draw(t, "id")}
		if rapid.Bool().Draw(t, "sca") {
			body.SCABody = &SCABody{}
		}
		members, err := body.Members()
		if err != nil {
			t.Fatal(err)
		}
		var got, plain string
		if err := json.Unmarshal(BodyMessage(members), &got); err != nil {
			t.Fatalf("%v in %s", err, members)
		}
		encoded, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(encoded, &plain); err != nil {
			t.Fatal(err)
		}
		if got != plain {
			t.Errorf("BodyMessage reads %q, want %q", got, plain)
		}
	})
}

func TestBodyMessageOfOtherText(t *testing.T) {
	for _, members := range []string{
		"", `"rule_message":`, `"rule_message":null,"location":{}`, `"rule_message":"open`, `"rule_message":"open\`,
		`"location":{},"rule_message":"late"`,
	} {
		if got := BodyMessage([]byte(members)); got != nil {
			t.Errorf("BodyMessage(%s) = %s, want none", members, got)
		}
	}
}
