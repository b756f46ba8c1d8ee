package report

// wordSet finds which of up to 64 words a text holds, in one pass over it whatever
// the words are: the automaton of Aho and Corasick, with a state for each beginning
// of a word and a row of followers for each state.
type wordSet struct {
	class   [256]uint8 // of bytes: 0 for those of no word
	classes int
	next    []uint16 // by state and class
	ends    []uint64 // the words that end in a state, by their places
}

// newWordSet makes a set of words, none of them empty.
func newWordSet(words ...string) *wordSet {
	w := &wordSet{classes: 1, ends: []uint64{0}}
	for _, word := range words {
		for i := range len(word) {
			if w.class[word[i]] == 0 {
				w.class[word[i]] = uint8(w.classes) //nolint:gosec // as many as there are bytes in the words, which are ASCII
				w.classes++
			}
		}
	}
	w.next = make([]uint16, w.classes)
	for place, word := range words {
		at := 0
		for i := range len(word) {
			edge := at*w.classes + int(w.class[word[i]])
			if w.next[edge] == 0 {
				w.next[edge] = uint16(len(w.ends)) //nolint:gosec // at most the bytes of 64 words
				w.next, w.ends = append(w.next, make([]uint16, w.classes)...), append(w.ends, 0)
			}
			at = int(w.next[edge])
		}
		w.ends[at] |= 1 << place
	}
	w.link()
	return w
}

// link has each state go on as the longest end of it does that begins a word.
func (w *wordSet) link() {
	shorter := make([]int, len(w.ends)) // the longest beginning of a word that a state ends in
	queue := []int{0}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		for c := 1; c < w.classes; c++ {
			edge, other := state*w.classes+c, int(w.next[shorter[state]*w.classes+c])
			follower := int(w.next[edge])
			if follower == 0 {
				w.next[edge] = uint16(other) //nolint:gosec // a state
				continue
			}
			if state != 0 {
				shorter[follower] = other
			}
			w.ends[follower] |= w.ends[shorter[follower]]
			queue = append(queue, follower)
		}
	}
}

// in returns the words that a text holds, a bit for the place of each.
func (w *wordSet) in(s string) (found uint64) {
	at := 0
	for i := range len(s) {
		at = int(w.next[at*w.classes+int(w.class[s[i]])])
		found |= w.ends[at]
	}
	return found
}
