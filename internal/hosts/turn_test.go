package hosts

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/job"
)

// TestHostsThatAreDownLeaveOthersOfTheDeploymentTheirPlace: five hosts that were down when they
// were asked last hang, and a healthy one of the same deployment has its turn; one that
// answers again is one of those.
func TestHostsThatAreDownLeaveOthersOfTheDeploymentTheirPlace(t *testing.T) {
	var turns turns
	now := time.Unix(0, 0)
	at := func(name string) redoubt.Connection {
		return redoubt.Connection{BaseURL: "https://" + name + ".example", Credential: []byte(name)}
	}
	down := fmt.Errorf("nobody answers: %w", redoubt.ErrUnavailable)
	for i := range 5 {
		if err := turns.take(1, at(fmt.Sprint("dead", i)), now, func() error { return down }); !errors.Is(err, down) {
			t.Fatal(err)
		}
	}
	let, ended := make(chan struct{}), make(chan error)
	inside := 0
	for i := range 5 {
		entered := make(chan bool, 2)
		go func() {
			err := turns.take(1, at(fmt.Sprint("dead", i)), now, func() error { entered <- true; <-let; return nil })
			entered <- false
			ended <- err
		}()
		if <-entered {
			inside++
		} else {
			<-ended
		}
	}
	if inside != askedOfDown {
		t.Errorf("%d hang, want %d", inside, askedOfDown)
	}
	if err := turns.take(1, at("healthy"), now, func() error { return nil }); err != nil {
		t.Errorf("the healthy one: %v", err)
	}
	close(let)
	for range inside {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if len(turns.at)+len(turns.by)+len(turns.ofDown) > 0 || turns.down["dead0.example"] || !turns.down["dead4.example"] {
		t.Errorf("at the end there are %+v", &turns)
	}
	turns.leave(at("dead4"), now, time.Minute)
	turns.waiting["gone.example"] = 1
	turns.forget(map[string]bool{"dead4.example": true}, now)
	if len(turns.down) != 1 || len(turns.waiting) != 1 || len(turns.until) != 1 {
		t.Errorf("once the others have no connection there are %+v", &turns)
	}
	turns.forget(nil, now.Add(time.Minute))
	if len(turns.down)+len(turns.waiting)+len(turns.until) > 0 {
		t.Errorf("once none has there are %+v", &turns)
	}
	turns.down["dead4.example"], turns.ofDown[1] = true, askedOfDown
	err := turns.take(1, at("dead4"), now, func() error { return nil })
	if _, is := errors.AsType[job.WaitError](err); !is {
		t.Errorf("a third one that was down: %v", err)
	}
}
