package model_test

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

func TestTicketAddresses(t *testing.T) {
	for address, want := range map[string][3]string{ // display name, project of the tracker, key
		"https://github.com/acme/app/issues/12":                         {"acme/app#12", "acme/app", "12"},
		"https://gitlab.com/acme/team/app/-/issues/7":                   {"acme/team/app#7", "acme/team/app", "7"},
		"https://gitlab.com/acme/app/-/work_items/7":                    {"acme/app#7", "acme/app", "7"},
		"http://git.example:3000/acme/app/issues/1?x=2#issuecomment-10": {"acme/app#1", "acme/app", "1"},
		"https://acme.atlassian.net/browse/SEC-12":                      {"SEC-12", "SEC", "SEC-12"},
		"https://jira.example/jira/browse/A2_B-3":                       {"A2_B-3", "A2_B", "A2_B-3"},
		"https://linear.app/acme/issue/ENG-9/a-title":                   {"a-title", "", ""},
		"https://tracker.example":                                       {"tracker.example", "", ""},
		"https://tracker.example/browse/sec-12":                         {"sec-12", "", ""},
		"https://github.com/acme/app/issues/x12":                        {"x12", "", ""},
		"https://github.com/acme/app/issues/1234567890123456789":        {"1234567890123456789", "", ""},
		"https://acme.atlassian.net/browse/SEC-12?focusedId=10001&page=com.atlassian.jira:comment-tabpanel#comment-10001": {"SEC-12", "SEC", "SEC-12"},
		"https://tracker.example/show_bug.cgi?id=7&q=token&token=&component=password-reset&key=SEC&author=me&design=a":    {"show_bug.cgi", "", ""},
		"https://tracker.example/tickets/token=?100%":                                                                     {"token=", "", ""},
	} {
		got, err := model.ParseTicketURL(address)
		if err != nil || got.URL != address || [3]string{got.Slug, got.Project, got.Key} != want || got.State != model.TicketUnknown {
			t.Errorf("%s is %+v, %v; want %v", address, got, err, want)
		}
	}
	for _, address := range []string{
		"", "SEC-1", "ftp://t.example/1", "javascript:alert(1)", "//t.example/1", "https:///1", "https://me@t.example/1", "https://me:pw@t.example/1",
		"https://t.example/\n1", "https://t.example/\u202e1", "https://t.example/\xff", "https://t.example/" + strings.Repeat("x", 2048),
	} {
		if got, err := model.ParseTicketURL(address); err == nil {
			t.Errorf("%q is taken as %+v", address, got)
		}
	}
}

// TestTicketAddressesContainNoSecrets checks that URLs with credentials are neither stored nor
// repeated in errors.
func TestTicketAddressesContainNoSecrets(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	for _, behind := range []string{
		"?token=", "?x=1&access_token=", "?x=1;private-token=", "?accessToken=", "?X-Amz-Signature=", "?sig=", "?key=1&api_key=", "?ApiKey=", "?client_secret=",
		"?password=", "?PWD=", "?passwd=", "?passphrase=", "?credentials=", "?auth=", "?Authorization=", "?jwt=", "?sid=", "?atl_token=", "?%74oken=", "?user[token]=",
		"#token=", "#x&access_token=", "#/issues/1?token=", ";jsessionid=", "?PHPSESSID=", "?next=%2Fissues%3Ftoken%3D", "?100%&token=", "?100%&%74oken=",
	} {
		address := "https://t.example/browse/SEC-1" + behind + secret
		switch got, err := model.ParseTicketURL(address); {
		case err == nil:
			t.Errorf("%s is taken as %+v", address, got)
		case strings.Contains(err.Error(), secret):
			t.Errorf("%s is refused with its secret: %v", address, err)
		}
	}
}

func TestTicketSettings(t *testing.T) {
	for name, c := range map[string]struct {
		setting model.TicketSetting
		good    bool
	}{
		"none":                 {model.TicketSetting{}, true},
		"all":                  {model.TicketSetting{ConnectionID: 1, Project: "SEC", IssueType: "Bug", Labels: []string{"security"}, Public: true}, true},
		"a project by itself":  {model.TicketSetting{Project: "SEC"}, false},
		"a label of two words": {model.TicketSetting{Labels: []string{"a b"}}, false},
		"a label of two":       {model.TicketSetting{Labels: []string{"a,b"}}, false},
		"a label of nothing":   {model.TicketSetting{Labels: []string{""}}, false},
		"too many labels":      {model.TicketSetting{Labels: strings.Split(strings.Repeat("x ", 20)+"x", " ")}, false},
		"a type with an end":   {model.TicketSetting{IssueType: "Bug\n"}, false},
	} {
		if err := c.setting.Check(); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
