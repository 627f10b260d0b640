import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** java.net.http.HttpClient ("client") or HttpURLConnection ("connection"), as they come. */
public class Get {
    public static void main(String[] arguments) throws Exception {
        URI uri = URI.create(arguments[1]);
        if (arguments[0].equals("client")) {
            var answer = HttpClient.newHttpClient().send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
            System.out.println(answer.statusCode() + " " + answer.body());
            return;
        }
        var connection = (HttpURLConnection) uri.toURL().openConnection();
        int status = connection.getResponseCode();
        try (InputStream body = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
            System.out.println(status + " " + new String(body.readAllBytes()));
        }
    }
}
