package index

import (
	"math"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// Order is how a listing is sorted.
type Order uint8

// Orders. Findings that one of them does not tell apart are newest first, those that have
// nothing to be sorted by come last. Newest and Oldest, LatestDue and Soonest are each
// other's reverse among those that have it.
const (
	Newest Order = iota // as the contract lists
	Oldest
	MostSevere
	Soonest // by due date
	LeastSevere
	LatestDue
	MostLikely // by EPSS score
	LeastLikely
	ExploitedFirst // known to be, by KEV
	MostReachable
	LeastReachable
)

// orderNames are the words of the pages and of the Web API, by order.
var orderNames = [...]string{
	"newest", "oldest", "risk", "due", "severity_asc", "due_desc",
	"epss", "epss_asc", "kev", "reachability", "reachability_asc",
}

// String returns the word for the order.
func (o Order) String() string { return orderNames[o] }

// ParseOrder reads a word; an unknown one is not found.
func ParseOrder(word string) (Order, bool) {
	for i, name := range orderNames {
		if name == word {
			return Order(i), true
		}
	}
	return 0, false
}

// Fits reports whether findings of an issue type have what the order sorts by.
func (o Order) Fits(t model.IssueType) bool { return o < MostLikely || t == model.SCA }

// Orders lists the orders of an issue type.
func Orders(t model.IssueType) (out []Order) {
	for o := range Order(len(orderNames)) {
		if o.Fits(t) {
			out = append(out, o)
		}
	}
	return out
}

// What classes of rows come first: of a field's values, those that are not here come last.
var (
	worstFirst = []uint8{
		uint8(model.SeverityCritical), uint8(model.SeverityHigh), uint8(model.SeverityMedium), uint8(model.SeverityLow),
	}
	mildestFirst  = reversed(worstFirst)
	mostReachable = []uint8{
		uint8(model.AlwaysReachable), uint8(model.Reachable), uint8(model.ConditionallyReachable),
		uint8(model.ReachabilityUnknown), uint8(model.Unreachable),
	}
	leastReachable   = reversed(mostReachable)
	exploitedAtFirst = []uint8{flagYes, flagNo}
)

func reversed(list []uint8) []uint8 {
	out := make([]uint8, len(list))
	for i, v := range list {
		out[len(list)-1-i] = v
	}
	return out
}

// ordered returns the ordinals at skip to skip+size of the rows in an order.
func (s *state) ordered(p *partition, b *roaring.Bitmap, o Order, skip, size int) []uint32 {
	switch o {
	case Oldest:
		return ascending(b, skip, size)
	case MostSevere:
		return p.classed(b, bySeverity, worstFirst, skip, size)
	case LeastSevere:
		return p.classed(b, bySeverity, mildestFirst, skip, size)
	case MostReachable:
		return p.classed(b, byReachability, mostReachable, skip, size)
	case LeastReachable:
		return p.classed(b, byReachability, leastReachable, skip, size)
	case ExploitedFirst:
		return p.classed(b, byExploited, exploitedAtFirst, skip, size)
	case MostLikely, LeastLikely:
		return p.byScore(b, o == LeastLikely, skip, size)
	case Soonest:
		return s.soonest(p, b, skip, size)
	case LatestDue:
		return s.latest(p, b, skip, size)
	}
	return descending(b, skip, size)
}

// classed takes the rows of one value of a field after the other; those of none of the
// values come last.
func (p *partition) classed(b *roaring.Bitmap, f field, values []uint8, skip, size int) []uint32 {
	var out []uint32
	rest := b
	for _, v := range values {
		if len(out) >= size {
			return out
		}
		set := roaring.And(rest, p.readBitmap(f, uint32(v)))
		rest = roaring.AndNot(rest, set)
		out = append(out, descending(set, skip, size-len(out))...)
		skip = max(skip-int(set.GetCardinality()), 0)
	}
	return append(out, descending(rest, skip, size-len(out))...)
}

// An EPSS score has five digits behind its point. Rows have it as a whole number, and 0
// where there is none.
const (
	scoreUnits = 100_000
	noScore    = 0
)

func packScore(e *model.EPSS) uint32 {
	if e == nil {
		return noScore
	}
	return 1 + uint32(math.Round(min(max(e.Score, 0), 1)*scoreUnits))
}

// byScore counts the rows of each score, which tells where those of a score begin in the
// list, and puts those of the page into their places: rows that share a score are as many
// as there are, and are not sorted.
func (p *partition) byScore(b *roaring.Bitmap, ascending bool, skip, size int) []uint32 {
	column, total := p.columns[scored], int(b.GetCardinality())
	if column == nil || skip >= total || size <= 0 {
		return descending(b, skip, size)
	}
	ends := make([]uint32, scoreUnits+2) // by score: how many rows have it; then where the next score begins
	for batch := range batches(b) {
		for _, ordinal := range batch {
			ends[column[ordinal]]++
		}
	}
	sum := uint32(0)
	for i := range len(ends) - 1 {
		score := len(ends) - 1 - i
		if ascending {
			score = i + 1
		}
		sum += ends[score]
		ends[score] = sum
	}
	ends[noScore] = uint32(total)
	out := make([]uint32, min(size, total-skip))
	for batch := range batches(b) { // the oldest first, so each score is filled from its end
		for _, ordinal := range batch {
			score := column[ordinal]
			ends[score]--
			if at := int(ends[score]) - skip; at >= 0 && at < len(out) {
				out[at] = ordinal
			}
		}
	}
	return out
}
