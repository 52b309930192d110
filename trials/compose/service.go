// The two services of the trial in one static program, so that an image needs nothing but this file:
//
//	service serve PORT [URL]   answers GET /; with URL, after it has asked there
//	service check URL          exit code 0 if URL answers 200: a healthcheck without a shell
//	service leave CODE         prints two lines and ends
package main

import (
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

func serve(port string, store []string) {
	http.HandleFunc("/", func(out http.ResponseWriter, request *http.Request) {
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
	fmt.Println("listening on", port)
	fmt.Println(http.ListenAndServe("127.0.0.1:"+port, nil))
	os.Exit(1)
}
