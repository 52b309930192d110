// The two services of the trial in one static program, so that an image needs nothing but this file:
//
//	service serve ADDRESS [URL]   answers GET /; with URL, after it has asked there. The variable ROUNDS is how many times each
//	                              answer computes a checksum of a kilobyte
//	service check URL             exit code 0 if URL answers 200: a healthcheck without a shell
//	service leave CODE            prints two lines and ends
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
)

func main() {
	switch mode := os.Args[1]; mode {
	case "serve":
		serve(os.Args[2], os.Args[3:])
	case "check":
		answer, err := http.Get(os.Args[2])
		if err != nil || answer.StatusCode != http.StatusOK {
			fmt.Println("no answer:", err)
			os.Exit(1)
		}
	case "leave":
		fmt.Println("reading the configuration")
		fmt.Println("password is " + os.Getenv("STORE_PASSWORD"))
		code, _ := strconv.Atoi(os.Args[2])
		os.Exit(code)
	}
}

func serve(address string, store []string) {
	rounds, _ := strconv.Atoi(os.Getenv("ROUNDS"))
	http.HandleFunc("/", func(out http.ResponseWriter, request *http.Request) {
		checksum := make([]byte, 1024)
		for range rounds {
			sum := sha256.Sum256(checksum)
			copy(checksum, sum[:])
		}
		if len(store) > 0 {
			answer, err := http.Get(store[0])
			if err != nil {
				http.Error(out, "the store does not answer", http.StatusBadGateway)
				return
			}
			defer answer.Body.Close()
			io.Copy(io.Discard, answer.Body)
		}
		fmt.Fprintln(out, "ok")
	})
	fmt.Println("listening on", address)
	fmt.Println(http.ListenAndServe(address, nil))
	os.Exit(1)
}
