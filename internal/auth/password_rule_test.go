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
		"anna.schmidt":                  "it is the name",
		"ANNA.SCHMIDT":                  "it is the name",
		"anna.schmidt2024!":             "it is the name",
		"aaaaaaaaaaaaaaaa":              "one character",
		"            ":                  "",
		"correct horse battery":         "",
		"äöüäöüäöüäöü":                  "",
		"password1234":                  "first that are guessed",
		"P@ssw0rd1234":                  "first that are guessed",
		"Password1234!":                 "first that are guessed",
		"passwordpassword":              "first that are guessed",
		"Summer2024!!":                  "first that are guessed",
		"qwertyuiop12":                  "first that are guessed",
		"123456789012":                  "little more",
		"abcdefghijkl":                  "first that are guessed",
		"letmein12345":                  "first that are guessed",
		"redoubt-2024":                  "first that are guessed",
		"Redoubt1234!":                  "first that are guessed",
		"acme-corp-2024":                "first that are guessed",
		"schmidt123456":                 "first that are guessed",
		"trustno1trustno1":              "first that are guessed",
		"kx93mfl0qpwz":                  "",
		"battery staple horse":          "",
		"a long enough password":        "",
		"İİİİİİİİİİİx":                  "first that are guessed",
		strings.Repeat("password", 20):  "first that are guessed", // regardless of length
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

// TestWhatGuessesCost checks the entropy of each kind of part.
func TestWhatGuessesCost(t *testing.T) {
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
