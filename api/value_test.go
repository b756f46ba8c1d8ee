package api

import (
	"testing"
	"time"
)

func TestInstants(t *testing.T) {
	at := func(hour, minute, second, nano int) time.Time {
		return time.Date(2024, time.May, 28, hour, minute, second, nano, time.UTC)
	}
	for text, want := range map[Instant]time.Time{
		"":                                 {},
		"2024-05-28":                       at(0, 0, 0, 0),
		"2024-05-28T06:38":                 at(6, 38, 0, 0),
		"2024-05-28T06:38:54":              at(6, 38, 54, 0),
		"2024-05-28T06:38:54.962941":       at(6, 38, 54, 962941000),
		"2024-05-28T06:38:54,5":            at(6, 38, 54, 500000000),
		"2024-05-28T06:38Z":                at(6, 38, 0, 0),
		"2024-05-28T06:38:54.962941Z":      at(6, 38, 54, 962941000),
		"2024-05-28T08:38:54+02:00":        at(6, 38, 54, 0),
		"2024-05-28T08:38:54.962941+0200":  at(6, 38, 54, 962941000),
		"2024-05-27T20:38-1000":            at(6, 38, 0, 0),
		"2024-05-28T06:38:54.962941+00:00": at(6, 38, 54, 962941000),
	} {
		if got, err := text.Time(); err != nil || !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []Instant{"soon", "2024-02-30", "2024-05-28T24:01", "28.5.2024", "2024-05-28T06", "1716878334", "2024-05-28T06:38:54+02:00:00", " 2024-05-28"} {
		if got, err := text.Time(); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
