/* loss.c -- softmax and sigmoid cross-entropy, of one label or of several, squared error.
 *
 * Sums over rows and classes run in double, so a mean over a long evaluation split keeps its
 * digits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/loss.h"

#include "common/base/check.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static float row_max(const float *z, uint32_t k)
{
    float max = z[0];

    for (uint32_t j = 1; j < k; j++)
        if (z[j] > max)
            max = z[j];
    return max;
}

static uint32_t label(float target, uint32_t classes)
{
    const uint32_t c = target >= 0.0F && target < (float)classes ? (uint32_t)target : classes;

    CHECK(c < classes && (float)c == target);
    return c;
}

static double counts_of(const float *weight, uint32_t class)
{
    return weight == NULL ? 1.0 : (double)weight[class];
}

/* -ln softmax(z)[c] = ln sum_j e^(z_j - max) - (z_c - max); gradient softmax(z) - [j = c]. */
static double softmax(float *dz, const float *z, const float *target, uint32_t rows, uint32_t k,
                      const float *weight)
{
    double loss = 0.0;

    for (uint32_t r = 0; r < rows; r++, z += k) {
        const uint32_t c = label(target[r], k);
        const float max = row_max(z, k);
        const double chosen = (double)z[c] - (double)max, counts = counts_of(weight, c);
        double sum = 0.0;

        for (uint32_t j = 0; j < k; j++) {
            const float e = expf(z[j] - max);
            sum += (double)e;
            if (dz != NULL)
                dz[j] = e;
        }
        loss += counts * (log(sum) - chosen);
        if (dz == NULL)
            continue;
        const double part = 1.0 / (sum * rows);
        for (uint32_t j = 0; j < k; j++)
            dz[j] = (float)(counts * ((double)dz[j] * part - (j == c ? 1.0 / rows : 0.0)));
        dz += k;
    }
    return loss / rows;
}

/* Stable on both sides: e^-|z| never overflows. */
static double sigmoid_of(double z)
{
    const double e = exp(-fabs(z));

    return z >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

/* ln(1 + e^z) - t z = max(z, 0) - t z + ln(1 + e^-|z|); gradient sigmoid(z) - t. */
static double sigmoid(float *dz, const float *logits, const float *target, uint32_t rows,
                      const float *weight)
{
    double loss = 0.0;

    for (uint32_t r = 0; r < rows; r++) {
        const double z = (double)logits[r];
        const uint32_t c = label(target[r], 2);
        const double t = (double)c, counts = counts_of(weight, c);

        loss += counts * ((z < 0.0 ? 0.0 : z) - t * z + log1p(exp(-fabs(z))));
        if (dz != NULL)
            dz[r] = (float)(counts * (sigmoid_of(z) - t) / rows);
    }
    return loss / rows;
}

/* The same for each label that is known, by the labels. */
static double sigmoids(float *dz, const float *logits, const float *target, uint32_t rows,
                       uint32_t k, const float *weight)
{
    const double part = 1.0 / ((double)rows * k);
    double loss = 0.0;

    for (size_t i = 0; i < (size_t)rows * k; i++) {
        const double z = (double)logits[i];
        uint32_t c;
        double counts;

        if (isnan(target[i])) {
            if (dz != NULL)
                dz[i] = 0.0F;
            continue;
        }
        c = label(target[i], 2);
        counts = weight == NULL ? 1.0 : (double)weight[2 * (i % k) + c];
        loss += counts * ((z < 0.0 ? 0.0 : z) - (double)c * z + log1p(exp(-fabs(z))));
        if (dz != NULL)
            dz[i] = (float)(counts * (sigmoid_of(z) - (double)c) * part);
    }
    return loss * part;
}

static double squared(float *dz, const float *logits, const float *target, uint32_t rows)
{
    double loss = 0.0;

    for (uint32_t r = 0; r < rows; r++) {
        const double d = (double)logits[r] - (double)target[r];

        loss += 0.5 * d * d;
        if (dz != NULL)
            dz[r] = (float)(d / rows);
    }
    return loss / rows;
}

static bool fits(enum nn_loss kind, uint32_t k)
{
    return kind == NN_LOSS_SOFTMAX || kind == NN_LOSS_SIGMOIDS ? k > 0 : k == 1;
}

double nn_loss(enum nn_loss kind, float *dz, const float *logits, const float *target,
               uint32_t rows, uint32_t k)
{
    return nn_loss_weighted(kind, dz, logits, target, rows, k, NULL);
}

double nn_loss_weighted(enum nn_loss kind, float *dz, const float *logits, const float *target,
                        uint32_t rows, uint32_t k, const float *weight)
{
    CHECK(rows > 0 && fits(kind, k));
    switch (kind) {
    case NN_LOSS_SOFTMAX: return softmax(dz, logits, target, rows, k, weight);
    case NN_LOSS_SIGMOID: return sigmoid(dz, logits, target, rows, weight);
    case NN_LOSS_SQUARED: return squared(dz, logits, target, rows);
    case NN_LOSS_SIGMOIDS: return sigmoids(dz, logits, target, rows, k, weight);
    }
    CHECK(0 && "loss");
    return 0.0;
}

static void predict_softmax(float *prob, const float *z, uint32_t rows, uint32_t k)
{
    for (uint32_t r = 0; r < rows; r++, z += k, prob += k) {
        const float max = row_max(z, k);
        double sum = 0.0;

        for (uint32_t j = 0; j < k; j++) {
            prob[j] = expf(z[j] - max);
            sum += (double)prob[j];
        }
        for (uint32_t j = 0; j < k; j++)
            prob[j] = (float)((double)prob[j] / sum);
    }
}

void nn_predict(enum nn_loss kind, float *prob, const float *logits, uint32_t rows, uint32_t k)
{
    CHECK(fits(kind, k));
    switch (kind) {
    case NN_LOSS_SOFTMAX: predict_softmax(prob, logits, rows, k); return;
    case NN_LOSS_SIGMOID:
    case NN_LOSS_SIGMOIDS:
        for (size_t i = 0; i < (size_t)rows * k; i++)
            prob[i] = (float)sigmoid_of((double)logits[i]);
        return;
    case NN_LOSS_SQUARED:
        for (uint32_t r = 0; r < rows; r++)
            prob[r] = logits[r];
        return;
    }
    CHECK(0 && "loss");
}
