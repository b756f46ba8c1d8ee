package lifetest

import (
	"fmt"
	"slices"
	"strings"
)

// Transition is one row of the table of the life of a finding.
type Transition struct {
	From, What, To string
	// History are the events that it leaves, Maybe those of which one more may be,
	// as moved, where it did.
	History, Maybe []string
	// Now: relevant_since becomes the commit's time.
	Now bool
}

// Table is the table by state and what happened, with how often a row was met.
type Table struct {
	rows map[[2]string]Transition
	met  map[[2]string]int
}

// ReadTable finds the table in the text of docs/life-of-a-finding.md.
func ReadTable(text string) (*Table, error) {
	t := &Table{rows: map[[2]string]Transition{}, met: map[[2]string]int{}}
	_, rest, found := strings.Cut(text, "| from | what | to |")
	if !found {
		return nil, fmt.Errorf("the text has no table of transitions")
	}
	for _, line := range strings.Split(rest, "\n")[2:] {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 6 {
			break
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		row := Transition{From: cells[0], What: cells[1], To: cells[2], Now: cells[4] == "now"}
		for event := range strings.SplitSeq(cells[3], ", ") {
			if maybe, ok := strings.CutSuffix(event, "?"); ok {
				row.Maybe = append(row.Maybe, maybe)
			} else if event != "" {
				row.History = append(row.History, event)
			}
		}
		key := [2]string{row.From, row.What}
		if _, twice := t.rows[key]; twice {
			return nil, fmt.Errorf("the table says twice what %s does to %s", row.What, row.From)
		}
		t.rows[key] = row
	}
	if len(t.rows) == 0 {
		return nil, fmt.Errorf("the table of transitions is empty")
	}
	return t, nil
}

// Check compares what happened to a finding with the table: its states before
// and after, the events that were written, and whether its relevant_since moved.
func (t *Table) Check(from, what, to string, events []string, now bool) error {
	key := [2]string{from, what}
	row, known := t.rows[key]
	if !known {
		return fmt.Errorf("the table has no row for %s, %s", from, what)
	}
	t.met[key]++
	events = slices.Clone(events)
	for _, maybe := range row.Maybe {
		if at := slices.Index(events, maybe); at >= 0 {
			events = slices.Delete(events, at, at+1)
		}
	}
	slices.Sort(events)
	want := slices.Sorted(slices.Values(row.History))
	if row.To != to || !slices.Equal(want, events) || row.Now != now {
		return fmt.Errorf("%s, %s: the table says %s with %v, now %v; it is %s with %v, now %v", from, what, row.To, want, row.Now, to, events, now)
	}
	return nil
}

// Unmet lists the rows that nothing was checked against.
func (t *Table) Unmet() (out []string) {
	for key := range t.rows {
		if t.met[key] == 0 {
			out = append(out, key[0]+", "+key[1])
		}
	}
	slices.Sort(out)
	return out
}
