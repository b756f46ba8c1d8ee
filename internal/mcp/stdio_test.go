package mcp_test

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/mcp"
)

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// TestInvalidLineGetsResponse sends an invalid line between two messages, and checks that each gets a
// response and the connection remains open.
func TestInvalidLineGetsResponse(t *testing.T) {
	for _, c := range []struct {
		name, line string
		code       int64
	}{
		{"no JSON", `{"jsonrpc":`, -32700},
		{"two values", `{"jsonrpc":"2.0","method":"x"}{}`, -32700},
		{"words", `hello there`, -32700},
		{"too long", `"` + strings.Repeat("x", 17<<20) + `"`, -32700},
		{"no message", `{"a":1}`, -32600},
		{"a number", `7`, -32600},
		{"an empty list", `[]`, -32600},
		{"a list of nothing", `[1]`, -32600},
		{"a list of messages", `[{"jsonrpc":"2.0","id":5,"method":"ping"}]`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, send := io.Pipe()
			answers, out := io.Pipe()
			s := mcp.New(mcp.Config{Client: api.New("http://nowhere.invalid", ""), Deployment: "acme", Version: "test"})
			ended := make(chan error, 1)
			go func() { ended <- s.Run(t.Context(), mcp.Stdio(in, out)) }()
			lines := bufio.NewScanner(answers)
			request := func(line string) (answer struct {
				ID     *int
				Result json.RawMessage
				Error  *struct{ Code int64 }
			},
			) {
				t.Helper()
				if _, err := io.WriteString(send, line+"\n"); err != nil {
					t.Fatal(err)
				}
				if !lines.Scan() {
					t.Fatalf("the connection ended: %v", lines.Err())
				}
				if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
					t.Fatalf("%v: %s", err, lines.Text())
				}
				return answer
			}
			if a := request(hello); a.ID == nil || *a.ID != 1 || a.Error != nil {
				t.Fatalf("initialize: %s", lines.Text())
			}
			a := request(c.line)
			if c.code != 0 && (a.ID != nil || a.Error == nil || a.Error.Code != c.code) || c.code == 0 && (a.ID == nil || a.Error != nil) {
				t.Errorf("%.80s is answered with %s", c.line, lines.Text())
			}
			if a := request(`{"jsonrpc":"2.0","id":2,"method":"ping"}`); a.ID == nil || *a.ID != 2 || a.Error != nil {
				t.Errorf("what comes after is answered with %s", lines.Text())
			}
			send.Close()
			if err := <-ended; err != nil {
				t.Errorf("the end of the input: %v", err)
			}
		})
	}
}

// TestToolListCacheScopeIsPrivate checks that lists and resources are cacheable for one token only.
func TestToolListCacheScopeIsPrivate(t *testing.T) {
	w := newWorld(t, "")
	client := w.connect(w.token)
	list, err := client.ListTools(t.Context(), nil)
	if err != nil || list.CacheScope != "private" {
		t.Errorf("tools: %q, %v", list.CacheScope, err)
	}
}
