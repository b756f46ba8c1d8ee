package notify

import "sync"

// turns bounds how many deliver at once for one deployment, and to one host: who is slow
// or has much to be told leaves the others their workers.
type turns struct {
	most int
	mu   sync.Mutex
	at   map[string]int
}

// enter takes a turn of each key, or of none.
func (t *turns) enter(keys ...string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		if t.at[key] >= t.most {
			return false
		}
	}
	if t.at == nil {
		t.at = map[string]int{}
	}
	for _, key := range keys {
		t.at[key]++
	}
	return true
}

func (t *turns) leave(keys ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		if t.at[key]--; t.at[key] <= 0 {
			delete(t.at, key)
		}
	}
}
