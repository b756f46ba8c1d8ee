package weblink

import "testing"

func TestLine(t *testing.T) {
	const commit = "0123abc"
	for _, test := range []struct {
		name, repository, commit, ref, path string
		line                                int
		want                                string
	}{
		{"GitHub", "https://github.com/acme/payments", commit, "", "a/b.py", 7, "https://github.com/acme/payments/blob/0123abc/a/b.py#L7"},
		{"GitHub by ssh", "git@github.com:acme/payments.git", commit, "", "b.py", 7, "https://github.com/acme/payments/blob/0123abc/b.py#L7"},
		{"GitLab", "https://gitlab.example/g/s/r.git", commit, "", "b.py", 7, "https://gitlab.example/g/s/r/-/blob/0123abc/b.py#L7"},
		{"Bitbucket", "https://x:secret@bitbucket.org/acme/r", commit, "", "b.py", 7, "https://bitbucket.org/acme/r/src/0123abc/b.py#lines-7"},
		{"Bitbucket Server", "https://bitbucket.example/scm/ac/r.git", commit, "", "b.py", 7, "https://bitbucket.example/projects/ac/repos/r/browse/b.py?at=0123abc#7"},
		{"Azure", "https://org@dev.azure.com/org/p/_git/r", commit, "", "a/b c.py", 7, "https://dev.azure.com/org/p/_git/r?path=%2Fa%2Fb+c.py&version=GC0123abc&line=7&lineEnd=7&lineStartColumn=1&lineEndColumn=1"},
		{"Azure by ssh, a branch", "git@ssh.dev.azure.com:v3/org/p/r", "", "refs/heads/f/x", "b.py", 0, "https://dev.azure.com/org/p/_git/r?path=%2Fb.py&version=GBf%2Fx"},
		{"Gitea", "ssh://git@gitea.example:2222/acme/r.git", commit, "", "b.py", 7, "https://gitea.example/acme/r/src/commit/0123abc/b.py#L7"},
		{"Forgejo, a branch", "https://codeberg.org/acme/r", "", "refs/heads/f/x", "b.py", 7, "https://codeberg.org/acme/r/src/branch/f/x/b.py#L7"},
		{"an unknown host", "http://git.example:8080/r/", commit, "", "b.py", 7, "http://git.example:8080/r/blob/0123abc/b.py#L7"},
		{"a branch", "https://github.com/acme/r", "", "refs/heads/main", "b.py", 7, "https://github.com/acme/r/blob/main/b.py#L7"},
		{"the commit beats the branch", "https://github.com/acme/r", commit, "refs/heads/main", "b.py", 7, "https://github.com/acme/r/blob/0123abc/b.py#L7"},
		{"no line", "https://github.com/acme/r", commit, "", "b.py", 0, "https://github.com/acme/r/blob/0123abc/b.py"},
		{"odd characters", "https://github.com/acme/r", "a?b#c", "", "x y/#1?.py", 7, "https://github.com/acme/r/blob/a%3Fb%23c/x%20y/%231%3F.py#L7"},
		{"neither commit nor branch", "https://github.com/acme/r", "", "refs/pull/7/merge", "b.py", 7, ""},
		{"no repository", "", commit, "", "b.py", 7, ""},
		{"no path", "https://github.com/acme/r", commit, "", "", 7, ""},
		{"a script", "javascript://github.com/%0aalert(1)", commit, "", "b.py", 7, ""},
		{"a file", "file:///etc/passwd", commit, "", "b.py", 7, ""},
		{"not an address", "http://[::1", commit, "", "b.py", 7, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := New(test.repository, test.commit, test.ref).Line(test.path, test.line); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
