package main

import (
	"crypto/md5"
	"fmt"
	"os"
)

func digest(secret string) [16]byte {
	return md5.Sum([]byte(secret))
}

func main() {
	text, _ := os.ReadFile(os.Args[1])
	fmt.Println(digest(string(text)))
}
