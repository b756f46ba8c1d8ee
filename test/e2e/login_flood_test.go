package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestLoginFloodDoesNotBlockScanners requests a thousand tokens from fifty networks of one owner.
// The real scanner, from another network, must still get its token.
func TestLoginFloodDoesNotBlockScanners(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			w := newCIWorld(t, engine)
			w.stop()
			w.flags = []string{"--trusted-proxy", "127.0.0.0/8"}
			w.start()
			flood(w)
			login(w)
		})
	}
}

// flood requests 20 tokens from each of 51 networks of one owner, which exceeds the total limit.
func flood(w *ciWorld) {
	w.Helper()
	refused := 0
	for i := range 51 * 20 {
		body := fmt.Sprintf(`{"token_request_key":"a-key-that-is-too-long-to-be-guessed-%d"}`, i)
		req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.target.String()+"/api/agent/tokens/requests", strings.NewReader(body))
		if err != nil {
			w.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", fmt.Sprintf("2001:db8:7:%x::%x", i%51, i+1))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			w.Fatal(err)
		}
		_, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		switch {
		case err != nil:
			w.Fatal(err)
		case res.StatusCode == http.StatusTooManyRequests:
			refused++
		case res.StatusCode != http.StatusNotFound:
			w.Fatalf("request %d returns %s", i+1, res.Status)
		}
	}
	if refused == 0 {
		w.Error("all are queued: the queue was never full")
	}
}
