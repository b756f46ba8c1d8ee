package index

import "time"

// timeLayout is how this API writes times, in UTC (semantics §2).
const timeLayout = "2006-01-02T15:04:05.000000Z"

const dayMicros = 24 * 3600 * 1_000_000

// lastTime is a time as quoted text. Times of one day share its date, which is
// the part that takes long to find.
type lastTime struct {
	at  int64
	day int64 // days since 1970
	set bool
	buf [len(timeLayout) + 2]byte
}

// append writes microseconds since 1970 as a quoted time, 0 as null.
func (l *lastTime) append(b []byte, at int64) []byte {
	switch {
	case at == 0:
		return append(b, "null"...)
	case at < 0 || at >= 2_932_897*dayMicros: // before 1970, after 9999
		return append(b, time.UnixMicro(at).UTC().Format(`"`+timeLayout+`"`)...)
	case !l.set || at != l.at:
		l.write(at)
	}
	return append(b, l.buf[:]...)
}

func (l *lastTime) write(at int64) {
	day, micros := at/dayMicros, at%dayMicros
	if !l.set || day != l.day {
		var room [64]byte // AppendFormat needs more than what it appends
		copy(l.buf[:], time.UnixMicro(at).UTC().AppendFormat(room[:0], `"`+timeLayout+`"`))
	}
	l.at, l.day, l.set = at, day, true
	seconds := micros / 1_000_000
	digits(l.buf[12:14], seconds/3600)
	digits(l.buf[15:17], seconds/60%60)
	digits(l.buf[18:20], seconds%60)
	digits(l.buf[21:27], micros%1_000_000)
}

// digits fills b with the decimal digits of v.
func digits(b []byte, v int64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + v%10)
		v /= 10
	}
}
