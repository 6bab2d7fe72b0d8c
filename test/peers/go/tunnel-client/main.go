// tunnel-client is the Go client of konnectivity over a real proxy-server: the yardstick of ours, and the proof that server and agent
// of a test work before anybody asks whether our client does. One JSON object a run on standard output.
//
//	tunnel-client -proxy 127.0.0.1:8090 -ca ca.crt -cert gateway.crt -key gateway.key -target c1:443 -mode requests -count 1000 -parallel 1
package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"sigs.k8s.io/apiserver-network-proxy/konnectivity-client/pkg/client"
)

var (
	proxy    = flag.String("proxy", "", "host:port of the proxy-server")
	caFile   = flag.String("ca", "", "PEM file with the authority of the proxy-server")
	certFile = flag.String("cert", "", "PEM file with our certificate")
	keyFile  = flag.String("key", "", "PEM file with our key")
	target   = flag.String("target", "", "host:port that the agent dials")
	mode     = flag.String("mode", "requests", "requests: GET /, a tunnel for each; download: write one byte, read to the end; upload: write, then read a digest")
	count    = flag.Int("count", 1, "requests in all")
	parallel = flag.Int("parallel", 1, "requests at a time")
	bytes    = flag.Int64("bytes", 0, "bytes to upload")
)

// Result is what a run prints.
type Result struct {
	Done       int64   `json:"done"`
	Failed     int64   `json:"failed"`
	FirstError string  `json:"firstError,omitempty"`
	Bytes      int64   `json:"bytes"`
	SHA256     string  `json:"sha256,omitempty"`
	WallMs     float64 `json:"wallMs"`
	CPUMs      float64 `json:"cpuMs"`
}

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tunnel-client:", err)
		os.Exit(1)
	}
}

func run() error {
	tlsConfig, err := mutualTLS()
	if err != nil {
		return err
	}
	dial := func(ctx context.Context) (net.Conn, error) {
		// Single-use is what the releases up to now have: a session of its own for each tunnel.
		tunnel, err := client.CreateSingleUseGrpcTunnelWithContext(ctx, context.Background(), *proxy,
			grpc.WithTransportCredentials(credentials.NewTLS(tlsConfig)))
		if err != nil {
			return nil, err
		}
		return tunnel.DialContext(ctx, "tcp", *target)
	}
	result := &Result{}
	started, cpuBefore := time.Now(), cpuTime()
	switch *mode {
	case "requests":
		err = requests(dial, result)
	case "download":
		err = download(dial, result)
	case "upload":
		err = upload(dial, result)
	default:
		err = fmt.Errorf("there is no mode %q", *mode)
	}
	if err != nil {
		return err
	}
	result.WallMs = float64(time.Since(started).Microseconds()) / 1000
	result.CPUMs = float64((cpuTime() - cpuBefore).Microseconds()) / 1000
	return json.NewEncoder(os.Stdout).Encode(result)
}

type dialer func(context.Context) (net.Conn, error)

// requests sends each over a tunnel of its own, as the Go programs do that have no pool.
func requests(dial dialer, result *Result) error {
	var first atomic.Value
	var group sync.WaitGroup
	work := make(chan struct{})
	for range *parallel {
		group.Go(func() {
			for range work {
				size, err := request(dial)
				if err != nil {
					atomic.AddInt64(&result.Failed, 1)
					first.CompareAndSwap(nil, err.Error())
					continue
				}
				atomic.AddInt64(&result.Done, 1)
				atomic.AddInt64(&result.Bytes, size)
			}
		})
	}
	for range *count {
		work <- struct{}{}
	}
	close(work)
	group.Wait()
	result.FirstError, _ = first.Load().(string)
	return nil
}

func request(dial dialer) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	transport := &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableKeepAlives: true,
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+*target+"/", nil)
	if err != nil {
		return 0, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %d", response.StatusCode)
	}
	return io.Copy(io.Discard, response.Body)
}

func download(dial dialer, result *Result) error {
	connection, err := dial(context.Background())
	if err != nil {
		return err
	}
	defer connection.Close()
	// The client knows the connection a moment after its dial was answered, and closes it for bytes that come before that: with
	// v0.36.0 a download from a server that speaks first is cut short now and then.
	if _, err := connection.Write([]byte{'\n'}); err != nil {
		return err
	}
	digest := sha256.New()
	result.Bytes, err = io.Copy(digest, connection)
	if err != nil {
		return err
	}
	result.SHA256 = hex.EncodeToString(digest.Sum(nil))
	result.Done = 1
	return nil
}

// upload sends the bytes; the target answers with their digest in hexadecimal, since a tunnel has no end in one direction.
func upload(dial dialer, result *Result) error {
	connection, err := dial(context.Background())
	if err != nil {
		return err
	}
	defer connection.Close()
	chunk := make([]byte, 32*1024)
	for index := range chunk {
		chunk[index] = byte(index * 7)
	}
	for result.Bytes < *bytes {
		size := min(int64(len(chunk)), *bytes-result.Bytes)
		written, err := connection.Write(chunk[:size])
		if err != nil {
			return err
		}
		result.Bytes += int64(written)
	}
	answer := make([]byte, 2*sha256.Size)
	if _, err := io.ReadFull(connection, answer); err != nil {
		return err
	}
	result.SHA256 = string(answer)
	result.Done = 1
	return nil
}

func mutualTLS() (*tls.Config, error) {
	authority, err := os.ReadFile(*caFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, errors.New("no certificate in " + *caFile)
	}
	certificate, err := tls.LoadX509KeyPair(*certFile, *keyFile)
	if err != nil {
		return nil, err
	}
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, nil
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
