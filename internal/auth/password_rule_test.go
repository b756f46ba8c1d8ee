package auth

import (
	"math"
	"strings"
	"testing"
)

func TestPasswordRules(t *testing.T) {
	for password, why := range map[string]string{
		"short":                         "at least 12",
		"elevenchars":                   "at least 12",
		"äöüäöüäöüäö":                   "at least 12", // characters, not bytes
		strings.Repeat("ab", 129):       "at most 256",
		strings.Repeat("kx9mfl0q", 32):  "", // 256 characters
		"anna.schmidt":                  "little more than the username",
		"ANNA.SCHMIDT":                  "little more than the username",
		"anna.schmidt2024!":             "little more than the username",
		"aaaaaaaaaaaaaaaa":              "one character",
		"            ":                  "",
		"correct horse battery":         "",
		"äöüäöüäöüäöü":                  "",
		"password1234":                  "easy to guess",
		"P@ssw0rd1234":                  "easy to guess",
		"Password1234!":                 "easy to guess",
		"passwordpassword":              "easy to guess",
		"Summer2024!!":                  "easy to guess",
		"qwertyuiop12":                  "easy to guess",
		"123456789012":                  "little more than the username",
		"abcdefghijkl":                  "easy to guess",
		"letmein12345":                  "easy to guess",
		"redoubt-2024":                  "easy to guess",
		"Redoubt1234!":                  "easy to guess",
		"acme-corp-2024":                "easy to guess",
		"schmidt123456":                 "easy to guess",
		"trustno1trustno1":              "easy to guess",
		"kx93mfl0qpwz":                  "",
		"battery staple horse":          "",
		"a long enough password":        "",
		"İİİİİİİİİİİx":                  "easy to guess",
		strings.Repeat("password", 20):  "easy to guess", // regardless of length
		"my anna.schmidt is no secret ": "",
	} {
		err := CheckPassword(password, "anna.schmidt", "Acme Corp")
		if password == "            " {
			why = "it is" // only spaces: any rule may reject it
		}
		if (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", password, err, why)
		}
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("the error shows the password %q", password)
		}
	}
}

// TestPasswordEntropy checks the entropy of each kind of part.
func TestPasswordEntropy(t *testing.T) {
	letter, digit, sign := math.Log2(26), math.Log2(10), math.Log2(33)
	about := []string{"Zorblax", "Qv Inc."}
	for password, want := range map[string]float64{
		"":        0,
		"a":       letter,
		"z":       letter,
		"Z":       letter,
		"7":       digit,
		"`":       sign,
		"{":       sign,
		"é":       sign,
		"ab":      2 * letter, // two characters are not a part
		"qv":      2 * letter,
		"zorblax": 1,
		"Zorblax": 1 + caseBits,
		"z0rb1ax": 1 + caseBits,
		"inc":     1,
		"2094":    yearBits,
		"1894":    4 * digit,
		"20945":   yearBits + digit,
		"20qz":    2*digit + 2*letter,
		"194":     3 * digit,
		"{|}":     sign + repeatBits,
		"}|{":     sign + repeatBits,
		"~~~~~~~": sign + repeatBits,
		"!#%":     3 * sign, // steps of two are not a sequence
		"%#!":     3 * sign,
		"{|}|":    2*sign + repeatBits,
	} {
		if got := guessBits(password, about); math.Abs(got-want) > 1e-9 {
			t.Errorf("%q costs %.2f bits, want %.2f", password, got, want)
		}
	}
}

func FuzzCheckPassword(f *testing.F) {
	f.Add("correct horse battery", "anna")
	f.Add("            ", "")
	f.Add("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "a")
	f.Fuzz(func(t *testing.T, password, name string) {
		if CheckPassword(password, name) == nil && len(password) < MinPassword {
			t.Errorf("took %q", password)
		}
	})
}
