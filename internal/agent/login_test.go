package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

const requestKey = "0b1f4c3e-6f5a-4d6e-9c1b-0a7d5e2f9b11"

func tokenRequestBody(key string) []byte { return fmt.Appendf(nil, `{"token_request_key":%q}`, key) }

// codeOf returns the code on the page that a scanner opens.
func (w *world) codeOf(key string) string {
	w.Helper()
	status, page := w.send("GET", "/login?cli-token="+key+"&docker=False&gha=False", "", nil)
	found := regexp.MustCompile(`redoubt token approve ([A-Z2-7]{4}-[A-Z2-7]{4})</code>`).FindStringSubmatch(page)
	if status != http.StatusOK || found == nil {
		w.Fatalf("the page is %d %s", status, page)
	}
	return found[1]
}

// TestDeniedLoginGrantsNoToken checks that a denied request never gets a token.
func TestDeniedLoginGrantsNoToken(t *testing.T) {
	each(t, func(w *world) {
		request := func() int {
			status, _ := w.send("POST", "/api/agent/tokens/requests", "", tokenRequestBody(requestKey))
			return status
		}
		before := request()
		code := w.codeOf(requestKey)
		w.update(func(ctx context.Context, tx *store.Tx) error {
			waiting, err := tx.WaitingLogin(ctx, code)
			if err != nil {
				return err
			}
			return tx.DenyLogin(ctx, waiting)
		})
		w.same("answers", []int{404, 404, 404}, []int{before, request(), request()})
	})
}

func TestLoginGrantsTokenOnce(t *testing.T) {
	each(t, func(w *world) {
		const poll = "/api/agent/tokens/requests"
		for range 2 {
			if status, text := w.send("POST", poll, "", tokenRequestBody(requestKey)); status != http.StatusNotFound {
				w.Errorf("before the approval: %d %s", status, text)
			}
		}
		code := w.codeOf(requestKey)
		w.update(func(ctx context.Context, tx *store.Tx) error {
			waiting, err := tx.WaitingLogin(ctx, code)
			if err != nil {
				return err
			}
			return tx.ApproveLogin(ctx, waiting, model.Token{Name: "laptop", Scopes: []model.Scope{model.ScopeCI}})
		})
		tokens := w.tokens()
		w.same("tokens before it is fetched", 1, tokens)
		status, text := w.send("POST", poll, "", tokenRequestBody(requestKey))
		var got struct {
			Token    string
			UserName string `json:"user_name"`
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != http.StatusOK || got.UserName != "laptop" {
			w.Fatalf("approved: %d %s", status, text)
		}
		if status, text := w.send("POST", poll, "", tokenRequestBody(requestKey)); status != http.StatusNotFound {
			w.Errorf("the second time: %d %s", status, text)
		}
		w.same("tokens", 2, w.tokens())
		if status, text := w.send("GET", "/api/agent/deployments/current", got.Token, nil); status != http.StatusOK {
			w.Errorf("the token answers %d %s", status, text)
		}
		if status, _ := w.send("GET", "/api/v1/deployments", got.Token, nil); status != http.StatusForbidden {
			w.Errorf("the token opens the Web API: %d", status)
		}
		for what, secret := range map[string]string{"token": got.Token, "key": requestKey} {
			if strings.Contains(w.log.String(), secret) {
				w.Errorf("the log holds the %s", what)
			}
			w.assertNotStored(what, secret)
		}
	})
}

func (w *world) tokens() (n int) {
	w.update(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Tokens(ctx)
		n = len(list)
		return err
	})
	return n
}

// assertNotStored checks that no file of the store contains a secret.
func (w *world) assertNotStored(what, secret string) {
	w.Helper()
	err := filepath.WalkDir(w.config.Dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), secret) {
			w.Errorf("%s holds the %s", entry.Name(), what)
		}
		return err
	})
	if err != nil && w.config.Dir != "" {
		w.Error(err)
	}
}

// TestLoginPageIsSafe checks that the page can be opened from anywhere. It contains only the code
// of the request, and loads and runs nothing. Other requests of the address go to the web pages.
func TestLoginPageIsSafe(t *testing.T) {
	w := newWorld(t, "sqlite", func(c *apihttp.Config) {
		c.Pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "the pages' own ", r.Method) })
	})
	res, err := http.Get(w.web.URL + "/login?cli-token=" + requestKey)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'sha256-", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
	} {
		if got := res.Header.Get(name); !strings.HasPrefix(got, want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, bad := range []string{"x", "%3Cscript%3Ealert(1)%3C%2Fscript%3E00000000000000", strings.Repeat("a", 200), ""} {
		if status, text := w.send("GET", "/login?cli-token="+bad, "", nil); status != http.StatusBadRequest || strings.Contains(text, "script") {
			t.Errorf("%q: %d %s", bad, status, text)
		}
	}
	for _, method := range []string{"GET", "POST"} {
		if _, text := w.send(method, "/login?next=/", "", nil); text != "the pages' own "+method {
			t.Errorf("without a key %s /login answers %s", method, text)
		}
	}
	if one, other := w.codeOf(requestKey), w.codeOf(strings.ToUpper(requestKey)); one == other {
		t.Errorf("two keys have the code %s", one)
	}
}

func TestLoginsAreLimited(t *testing.T) {
	w := newWorld(t, "sqlite")
	for _, bad := range []string{`{}`, `{"token_request_key":"short"}`, `{"token_request_key":7}`, `[]`, `nonsense`} {
		if status, text := w.send("POST", "/api/agent/tokens/requests", "", []byte(bad)); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", bad, status, text)
		}
	}
	count := map[int]int{}
	for i := range 70 {
		status, _ := w.send("POST", "/api/agent/tokens/requests", "", tokenRequestBody(fmt.Sprintf("%s-%d", requestKey, i)))
		count[status]++
	}
	// 60 requests are allowed at once, of which five were invalid. 20 may wait.
	w.same("answers by status", map[int]int{404: 20, 429: 50}, count)
}

// TestLoginAtTokenLimit checks a scanner whose approver has reached the maximum number of tokens.
// It must get an error, and the token once one is free.
func TestLoginAtTokenLimit(t *testing.T) {
	each(t, func(w *world) {
		const poll = "/api/agent/tokens/requests"
		w.send("POST", poll, "", tokenRequestBody(requestKey))
		code := w.codeOf(requestKey)
		var made []model.Token
		w.update(func(ctx context.Context, tx *store.Tx) error {
			waiting, err := tx.WaitingLogin(ctx, code)
			if err != nil {
				return err
			}
			ada, err := tx.CreateUser(ctx, model.User{Name: "ada"}, model.RoleAdmin)
			if err == nil {
				err = tx.ApproveLogin(ctx, waiting, model.Token{Name: "laptop", Scopes: []model.Scope{model.ScopeCI}, UserID: ada.ID})
			}
			for i := 0; i < 100 && err == nil; i++ {
				var one model.Token
				one, err = tx.CreateToken(ctx, model.Token{PublicID: fmt.Sprint("full", i), Name: "full", UserID: ada.ID}, storetest.TokenHash(fmt.Sprint("full", i)))
				made = append(made, one)
			}
			return err
		})
		for range 2 {
			if status, text := w.send("POST", poll, "", tokenRequestBody(requestKey)); status != http.StatusConflict {
				w.Errorf("with no room: %d %s", status, text)
			}
		}
		w.update(func(ctx context.Context, tx *store.Tx) error { return tx.RevokeToken(ctx, made[7].ID) })
		if status, text := w.send("POST", poll, "", tokenRequestBody(requestKey)); status != http.StatusOK || !strings.Contains(text, "laptop") {
			w.Errorf("with room: %d %s", status, text)
		}
	})
}
